//! How random offsets are spread: `random_distribution`.

use super::blocks::fill_shares;
use super::section::{percent, Section};
use super::spec::{Distribution, Region, Zone};
use super::value;
use crate::error::JobError;

pub(super) fn distribution(section: &Section) -> Result<Distribution, JobError> {
    let read = |text: &str| parse_distribution(text, section.kb_base);
    Ok(section.read("random_distribution", read)?.unwrap_or(Distribution::Uniform))
}

/// Zones of so many bytes have to be within what the job works on.
pub(super) fn refuse_zones_outside(
    section: &Section,
    distribution: &Distribution,
    regions: &[Region],
) -> Result<(), JobError> {
    let Distribution::Zoned(zones) = distribution else {
        return Ok(());
    };
    let end = zones.iter().flatten().filter(|zone| zone.scale == 0).map(|zone| zone.end).max().unwrap_or(0);
    match regions.iter().map(|region| region.bytes()).min() {
        Some(bytes) if end > bytes => Err(section.error(
            "random_distribution",
            &format!("the zones take {end} bytes of {bytes}"),
            "make them smaller",
        )),
        _ => Ok(()),
    }
}

fn parse_distribution(text: &str, kb_base: u64) -> Result<Distribution, String> {
    let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
    match word {
        "random" if rest.is_none() => Ok(Distribution::Uniform),
        "zipf" => match parameters(rest, 1.2)? {
            (theta, _) if theta <= 0.0 || (theta - 1.0).abs() < f64::EPSILON => {
                Err("theta must be above 0 and not 1".to_owned())
            }
            (theta, center) => Ok(Distribution::Zipf { theta, center }),
        },
        "pareto" => match parameters(rest, 0.2)? {
            (power, center) if power > 0.0 && power < 1.0 => Ok(Distribution::Pareto { power, center }),
            _ => Err("its parameter must lie between 0 and 1".to_owned()),
        },
        "normal" => match parameters(rest, 0.0)? {
            (deviation_percent, center) if (0.0..100.0).contains(&deviation_percent) => {
                Ok(Distribution::Normal { deviation_percent, center })
            }
            _ => Err("the deviation must be 0 to 100 percent".to_owned()),
        },
        "zoned" | "zoned_abs" => {
            let read = |part: &str| zones(part, (word == "zoned_abs").then_some(kb_base));
            let zones = value::per_direction(rest.unwrap_or_default(), read)?;
            Ok(Distribution::Zoned(zones.map(Option::unwrap_or_default)))
        }
        _ => Err("it must be one of random, zipf, pareto, normal, zoned, zoned_abs".to_owned()),
    }
}

/// `1.2` or `1.2:0.5`: the parameter and the center.
fn parameters(text: Option<&str>, default: f64) -> Result<(f64, Option<f64>), String> {
    let Some(text) = text else {
        return Ok((default, None));
    };
    let (parameter, center) =
        text.split_once(':').map_or((text, None), |(parameter, center)| (parameter, Some(center)));
    match center.map(value::fraction).transpose()? {
        Some(center) if !(0.0..=1.0).contains(&center) => Err("the center must lie between 0 and 1".to_owned()),
        center => Ok((value::fraction(parameter)?, center)),
    }
}

/// `60/10:30/20:8/30:2/40`: percent of the accesses to percent of the region (or, absolute, to so many bytes).
fn zones(text: &str, absolute_kb_base: Option<u64>) -> Result<Vec<Zone>, String> {
    let mut shares = Vec::new();
    for part in text.split(':') {
        let (access, size) = part.split_once('/').ok_or_else(|| format!("`{part}` is not a zone like 60/10"))?;
        let size = match absolute_kb_base {
            Some(kb_base) => value::bytes(size, kb_base)?,
            None => u64::from(percent(size)?),
        };
        if size == 0 {
            return Err(format!("`{part}` is an empty zone"));
        }
        shares.push((size, Some(percent(access)?)));
    }
    let (mut access_to_percent, mut end) = (0, 0_u64);
    let zones: Vec<Zone> = fill_shares(&shares)?
        .into_iter()
        .map(|(size, share)| {
            let begin = end;
            access_to_percent += share;
            end = end.saturating_add(size);
            Zone { access_to_percent, begin, end, scale: if absolute_kb_base.is_some() { 0 } else { 100 } }
        })
        .collect();
    match absolute_kb_base {
        None if end > 100 => Err(format!("the zones take {end} percent of the region")),
        _ => Ok(zones),
    }
}
