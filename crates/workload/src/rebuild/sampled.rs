//! A rebuild of which a stretch of each part is gone through, and stands for the part.

use array::{Ended, MemberShare, Outcome, Point, Progress};

use super::{fill_to, Array, Order, RebuildError, Report, Stopped, Told};

/// Parts that the members are cut into: their speed falls almost evenly from the outer zones to the inner ones.
const PARTS: u64 = 14;
/// A stretch begins with what is not counted. Members begin together and fall out of step with each other, which costs up to a
/// tenth of the speed, within the first two to four minutes. Md's own limit works on an average of half a minute.
const WARM_BYTES: u64 = 32 << 30;
/// That far the beginning of a rebuild is gone through, for what it takes longer than the rest.
const BEGINNING_BYTES: u64 = 32 << 30;
/// What is counted.
const COUNTED_BYTES: u64 = 8 << 30;
const STRETCH_BYTES: u64 = WARM_BYTES + COUNTED_BYTES;
const GONE_THROUGH_BYTES: u64 = PARTS * STRETCH_BYTES + BEGINNING_BYTES;

/// One part: where it begins, and what came of its stretch.
struct Part {
    bytes: u64,
    ns_per_byte: f64,
    /// What the beginning of the rebuild takes longer: the stripe cache is small.
    beginning_ns: f64,
    /// Of the whole stretch.
    outcome: Outcome,
    stretch_bytes: u64,
}

impl Part {
    /// How many of its stretch it is as long as.
    fn times(&self) -> f64 {
        self.bytes as f64 / self.stretch_bytes.max(1) as f64
    }
}

/// Tells over all stretches how far they are.
struct Watch<'a, 'b> {
    told: &'a mut Told<'b>,
    /// Bytes of the stretches that are over.
    before: u64,
}

impl Watch<'_, '_> {
    /// Lets the stretch that began at `from` go on.
    fn fill_to(&mut self, array: &mut Array, from: u64, to: u64) -> Result<(), Stopped> {
        let share = |bytes: u64| (self.before + bytes - from) as f64 / GONE_THROUGH_BYTES as f64;
        fill_to(array, to, &mut |bytes| (self.told)(share(bytes)))
    }
}

/// The rebuild as the sum of its parts.
pub(super) fn rebuild(order: &Order, told: &mut Told) -> Result<Report, RebuildError> {
    let used = order.options.used_bytes();
    let page = |bytes: u64| bytes / 4096 * 4096;
    let borders: Vec<u64> =
        (0..=PARTS).map(|part| if part == PARTS { used } else { page(used / PARTS * part) }).collect();
    let (mut parts, mut watch) = (Vec::new(), Watch { told, before: 0 });
    for border in borders.windows(2).filter(|border| border[0] < border[1]) {
        parts.push(play_part(order, border[0], border[1], &mut watch)?);
    }
    let requests = parts.iter().flat_map(|part| &part.outcome.members).map(|member| member.counters.requests).sum();
    Ok(Report {
        outcome: sum(order, &parts),
        began_ns: order.start_ns,
        during: Vec::new(),
        felt_during: Vec::new(),
        alone: Vec::new(),
        felt_alone: Vec::new(),
        whole: false,
        requests,
    })
}

/// A stretch from the middle of a part on, or as much of the part as there is.
fn play_part(order: &Order, begin: u64, end: u64, watch: &mut Watch) -> Result<Part, RebuildError> {
    let used = order.options.used_bytes();
    let from = ((begin + end) / 2 / 4096 * 4096).min(used.saturating_sub(STRETCH_BYTES) / 4096 * 4096);
    let mut array = order.array()?;
    let to = used.min(from + STRETCH_BYTES);
    array.recover(order.replacement, from, to)?;
    watch.fill_to(&mut array, from, from + WARM_BYTES.min((to - from) / 2))?;
    let (warm_ns, warm_bytes) = (array.now_ns(), array.recovered_bytes());
    watch.fill_to(&mut array, from, to)?;
    array.finish_recovery(u64::MAX);
    watch.before += to - from;
    let counted = (array.recovered_bytes() - warm_bytes).max(4096);
    let outcome = array.outcome().expect("a rebuild was begun");
    let ns_per_byte = (array.now_ns() - warm_ns) as f64 / counted as f64;
    Ok(Part {
        bytes: end - begin,
        ns_per_byte,
        beginning_ns: if begin == 0 { beginning_ns(order, ns_per_byte, watch)? } else { 0.0 },
        stretch_bytes: array.recovered_bytes() - from,
        outcome,
    })
}

/// What the beginning takes longer than it would at the speed of its part.
fn beginning_ns(order: &Order, ns_per_byte: f64, watch: &mut Watch) -> Result<f64, RebuildError> {
    let bytes = BEGINNING_BYTES.min(order.options.used_bytes());
    let mut array = order.array()?;
    array.recover(order.replacement, 0, bytes)?;
    watch.fill_to(&mut array, 0, bytes)?;
    array.finish_recovery(u64::MAX);
    watch.before += bytes;
    let took_ns = (array.now_ns() - order.start_ns) as f64;
    Ok((took_ns - bytes as f64 * ns_per_byte).max(0.0))
}

/// Whether a sample would be as long as the whole.
pub(super) fn is_in_vain(order: &Order) -> bool {
    GONE_THROUGH_BYTES >= order.options.used_bytes()
}

fn sum(order: &Order, parts: &[Part]) -> Outcome {
    let whole_bytes: u64 = parts.iter().map(|part| part.bytes).sum();
    let whole_ns = |part: &Part| part.bytes as f64 * part.ns_per_byte + part.beginning_ns;
    let duration_ns: f64 = parts.iter().map(whole_ns).sum();
    let (mut progress, mut at_ns, mut done_bytes) = (Progress::default(), 0.0, 0);
    for part in parts {
        // Four looks a part, as its status would have shown it.
        for quarter in 0..4 {
            let share = quarter as f64 / 4.0;
            let done = done_bytes + (part.bytes as f64 * share) as u64;
            progress.points.push(Point {
                at_ns: (at_ns + whole_ns(part) * share) as u64,
                done_bytes: done,
                shown_bytes_per_s: 1e9 / part.ns_per_byte,
                left_ns: Some(((whole_bytes - done) as f64 * part.ns_per_byte) as u64),
            });
        }
        at_ns += whole_ns(part);
        done_bytes += part.bytes;
    }
    let last = parts.last().map_or(0.0, |part| 1e9 / part.ns_per_byte);
    let end = Point { at_ns: duration_ns as u64, done_bytes, shown_bytes_per_s: last, left_ns: Some(0) };
    progress.points.push(end);
    Outcome {
        duration_ns: duration_ns as u64,
        ended: Ended::Complete,
        members: (0..order.options.width).map(|member| share(parts, member, duration_ns)).collect(),
        replacement: order.replacement,
        progress,
        done: 1.0,
        unguarded_bytes: parts.iter().map(|part| part.outcome.unguarded_bytes as f64 * part.times()).sum::<f64>()
            as u64,
    }
}

/// What a member did in all parts, its stretches counted for the parts.
fn share(parts: &[Part], member: usize, duration_ns: f64) -> MemberShare {
    let mut sum =
        MemberShare { counters: array::Counters::default(), awaited: 0.0, failed_at_ns: None, is_faulted: false };
    let (mut read, mut written, mut requests, mut busy) = (0.0, 0.0, 0.0, 0.0);
    for part in parts {
        let MemberShare { counters, awaited, .. } = part.outcome.members[member];
        let times = part.times();
        read += counters.bytes_read as f64 * times;
        written += counters.bytes_written as f64 * times;
        requests += counters.requests as f64 * times;
        let part_ns = part.bytes as f64 * part.ns_per_byte;
        busy += counters.busy_ns as f64 / part.outcome.duration_ns.max(1) as f64 * part_ns;
        sum.awaited += awaited * part_ns / duration_ns.max(1.0);
        let total = &mut sum.counters;
        total.timeouts += counters.timeouts;
        total.bad_places += counters.bad_places;
        total.faults_met |= counters.faults_met;
        total.longest_ns = total.longest_ns.max(counters.longest_ns);
        total.longest_command_ns = total.longest_command_ns.max(counters.longest_command_ns);
        total.longest_flush_ns = total.longest_flush_ns.max(counters.longest_flush_ns);
        total.longest_flush_asked_ns = total.longest_flush_asked_ns.max(counters.longest_flush_asked_ns);
        total.longest_silence_ns = total.longest_silence_ns.max(counters.longest_silence_ns);
    }
    sum.counters.bytes_read = read.round() as u64;
    sum.counters.bytes_written = written.round() as u64;
    sum.counters.requests = requests.round() as u64;
    sum.counters.busy_ns = busy.round() as u64;
    sum
}
