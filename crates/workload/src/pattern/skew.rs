//! Offsets that favour some blocks: zipf, pareto, normal and zoned, after fio's own formulas (its `lib/zipf.c` and
//! `lib/gauss.c`), so that the same parameter means the same skew.

use sim::Stream;

use crate::job::{Distribution, Zone};

/// fio sums no more than this many terms of the zeta series, and so do we: its skew depends on it.
const MOST_TERMS: u64 = 10_000_000;
/// Terms summed one by one before the rest is integrated.
const EXACT_TERMS: u64 = 10_000;
/// fio's multiplicative hash, which scatters the popular blocks over the region.
const GOLDEN: u64 = 0x61C8_8646_80B5_83EB;
const NORMAL_DRAWS: u64 = 12;

/// A distribution over `0..blocks`, ready to draw from.
#[derive(Clone, Debug)]
pub(crate) enum Skew {
    Uniform,
    Zipf { theta: f64, zeta: f64, eta: f64, first: u64 },
    Pareto { power: f64, first: u64 },
    Normal { deviation: u64, first: u64 },
    Zoned { zones: Vec<Zone>, block_bytes: u64 },
}

impl Skew {
    /// Prepares a distribution for a direction (0..3) with so many blocks of `block_bytes`.
    pub fn new(
        distribution: &Distribution,
        direction: usize,
        blocks: u64,
        block_bytes: u64,
        stream: &mut Stream,
    ) -> Self {
        let first = |center: &Option<f64>, stream: &mut Stream| match center {
            Some(center) => (blocks as f64 * center) as u64,
            None => stream.bits() >> 32,
        };
        match distribution {
            Distribution::Uniform => Self::Uniform,
            Distribution::Zipf { theta, center } => {
                let zeta = zeta(blocks.min(MOST_TERMS), *theta);
                let zeta_2 = 1.0 + 0.5_f64.powf(*theta);
                let eta = (1.0 - (2.0 / blocks as f64).powf(1.0 - theta)) / (1.0 - zeta_2 / zeta);
                Self::Zipf { theta: *theta, zeta, eta, first: first(center, stream) }
            }
            Distribution::Pareto { power, center } => {
                Self::Pareto { power: power.ln() / (1.0 - power).ln(), first: first(center, stream) }
            }
            Distribution::Normal { deviation_percent, center } => {
                let deviation = (blocks as f64 * deviation_percent / 100.0).ceil() as u64;
                let shift = center.map_or(0.0, |center| center - 0.5);
                let first = (blocks as f64 * shift.rem_euclid(1.0)) as u64;
                Self::Normal { deviation: deviation.min(blocks / 2), first }
            }
            Distribution::Zoned(zones) => Self::Zoned { zones: zones[direction].clone(), block_bytes },
        }
    }

    /// One block of `0..blocks`.
    pub fn draw(&self, blocks: u64, stream: &mut Stream) -> u64 {
        match self {
            Self::Uniform => stream.below(blocks),
            Self::Zipf { theta, zeta, eta, first } => {
                let unit = stream.unit();
                let rank = match unit * zeta {
                    scaled if scaled < 1.0 => 0,
                    scaled if scaled < 1.0 + 0.5_f64.powf(*theta) => 1,
                    _ => (blocks as f64 * (eta * unit - eta + 1.0).powf(1.0 / (1.0 - theta))) as u64,
                };
                scatter(rank, *first, blocks)
            }
            Self::Pareto { power, first } => {
                scatter(((blocks - 1) as f64 * stream.unit().powf(*power)) as u64, *first, blocks)
            }
            Self::Normal { deviation, first } => {
                let sum: u64 = (0..NORMAL_DRAWS).map(|_| stream.below(blocks + 1)).sum();
                let middle = sum.div_ceil(NORMAL_DRAWS);
                let half = deviation / 2;
                let spread =
                    if *deviation > 0 { (middle + stream.below(*deviation)).saturating_sub(half) } else { middle };
                scatter(spread.min(blocks - 1), *first, blocks)
            }
            Self::Zoned { zones, block_bytes } => draw_zone(zones, *block_bytes, blocks, stream),
        }
    }
}

fn scatter(rank: u64, first: u64, blocks: u64) -> u64 {
    rank.wrapping_mul(GOLDEN).wrapping_add(first) % blocks
}

fn draw_zone(zones: &[Zone], block_bytes: u64, blocks: u64, stream: &mut Stream) -> u64 {
    let share = stream.below(100) as u8;
    let Some(zone) = zones.iter().find(|zone| share < zone.access_to_percent) else {
        return stream.below(blocks);
    };
    let block = |at: u64| match zone.scale {
        0 => at / block_bytes,
        scale => (u128::from(blocks) * u128::from(at) / u128::from(scale)) as u64,
    };
    let (begin, end) = (block(zone.begin).min(blocks - 1), block(zone.end).min(blocks));
    begin + stream.below(end.saturating_sub(begin).max(1))
}

/// The sum of `k^-theta` for k from 1 to `terms`: the first exactly, the rest by the Euler-Maclaurin formula.
fn zeta(terms: u64, theta: f64) -> f64 {
    let exact = terms.min(EXACT_TERMS);
    let sum: f64 = (1..=exact).map(|term| (term as f64).powf(-theta)).sum();
    if terms == exact {
        return sum;
    }
    let (low, high) = (exact as f64, terms as f64);
    let integral = (high.powf(1.0 - theta) - low.powf(1.0 - theta)) / (1.0 - theta);
    sum + integral + (high.powf(-theta) - low.powf(-theta)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::{zeta, Skew};
    use crate::job::{Distribution, Zone};

    fn counts(distribution: &Distribution, blocks: u64, draws: u64) -> Vec<u64> {
        let mut stream = sim::stream(5, "skew");
        let skew = Skew::new(distribution, 0, blocks, 4096, &mut stream);
        let mut counts = vec![0; blocks as usize];
        for _ in 0..draws {
            counts[skew.draw(blocks, &mut stream) as usize] += 1;
        }
        counts
    }

    #[test]
    fn integrated_tail_equals_the_sum() {
        let plain: f64 = (1..=100_000).map(|term| f64::from(term).powf(-1.2)).sum();
        assert!((zeta(100_000, 1.2) - plain).abs() < 1e-9);
    }

    #[test]
    fn zipf_and_pareto_favour_few_blocks_and_uniform_none() {
        let hottest = |distribution: &Distribution| *counts(distribution, 1000, 100_000).iter().max().unwrap();
        assert!(hottest(&Distribution::Uniform) < 200);
        // The first of 1000 ranks has a share of 1 / zeta(1000, 1.2) = 0.23.
        let zipf = hottest(&Distribution::Zipf { theta: 1.2, center: None });
        assert!((21_000..26_000).contains(&zipf), "{zipf}");
        assert!(hottest(&Distribution::Pareto { power: 0.2, center: None }) > 20_000);
        assert!(hottest(&Distribution::Normal { deviation_percent: 0.0, center: None }) > 300);
    }

    #[test]
    fn zones_get_their_share() {
        let zone = |access_to_percent, begin, end| Zone { access_to_percent, begin, end, scale: 100 };
        let zones = vec![zone(60, 0, 10), zone(90, 10, 30), zone(100, 30, 100)];
        let counts = counts(&Distribution::Zoned([zones, Vec::new(), Vec::new()]), 1000, 100_000);
        let share = |range: std::ops::Range<usize>| counts[range].iter().sum::<u64>() as f64 / 100_000.0;
        assert!((share(0..100) - 0.6).abs() < 0.01 && (share(100..300) - 0.3).abs() < 0.01, "{}", share(0..100));
    }
}
