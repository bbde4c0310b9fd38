//! A drive that goes on where it was when an earlier lab ended.
//!
//! A model's state is what it was asked, and when: all of that is listed in a file, and asked again of a new drive, which is
//! then the old one, wherever its heads, its cache and its map stand. The hash over its answers tells whether it really is.
//! Between two labs no time passes, and the drive has nothing left to do: it is flushed at the end of each.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Error, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drive::{BlockDevice, Completion, Lost, Request, Status, Verb};
use xxhash_rust::xxh3::Xxh3;

use super::error::LabError;

const MAGIC: [u8; 8] = *b"drive\0\0\x01";
const RECORD_BYTES: usize = 32;
const NO_END: &str = "it has no end";

/// A line of the list. Times are the drive's own, since it was made.
#[derive(Clone, Copy)]
enum Event {
    Request(Request),
    PowerLoss,
    PowerOn,
    Reset,
    /// A lab ended; with the hash over all answers so far.
    End(u64),
}

impl Event {
    fn to_bytes(self, at_ns: u64) -> [u8; RECORD_BYTES] {
        let (kind, tag, offset_bytes, bytes) = match self {
            Self::Request(Request { tag, verb, fua, offset_bytes, bytes }) => {
                (u32::from(verb.code() | u8::from(fua) << 4), tag, offset_bytes, bytes)
            }
            Self::PowerLoss => (32, 0, 0, 0),
            Self::PowerOn => (33, 0, 0, 0),
            Self::Reset => (34, 0, 0, 0),
            Self::End(hash) => (35, 0, hash, 0),
        };
        let mut record = [0; RECORD_BYTES];
        record[..4].copy_from_slice(&kind.to_le_bytes());
        record[4..8].copy_from_slice(&tag.to_le_bytes());
        for (place, number) in record[8..].chunks_exact_mut(8).zip([at_ns, offset_bytes, bytes]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        record
    }

    fn from_bytes(record: &[u8; RECORD_BYTES]) -> Option<(u64, Self)> {
        let number =
            |from: usize, to: usize| record[from..to].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let (kind, tag, offset_bytes, bytes) = (number(0, 4), number(4, 8) as u32, number(16, 24), number(24, 32));
        let event = match kind {
            0..32 => {
                let verb = Verb::of_code(kind as u8 & 15)?;
                Self::Request(Request { tag, verb, fua: kind & 16 != 0, offset_bytes, bytes })
            }
            32 => Self::PowerLoss,
            33 => Self::PowerOn,
            34 => Self::Reset,
            35 => Self::End(offset_bytes),
            _ => return None,
        };
        Some((number(8, 16), event))
    }
}

/// What a drive has behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Of its own time, the time without power included.
    pub age_ns: u64,
    /// How often it lost its power.
    pub losses: u64,
}

/// The list of one drive, and how to end it.
#[derive(Clone)]
pub struct History(Arc<Mutex<Pages>>);

struct Pages {
    file: BufWriter<File>,
    life: Life,
    answers: Xxh3,
    failure: Option<std::io::Error>,
}

impl Pages {
    fn add(&mut self, now_ns: u64, event: Event) {
        if let Err(error) = self.file.write_all(&event.to_bytes(self.life.age_ns + now_ns)) {
            self.failure.get_or_insert(error);
        }
    }
}

impl History {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the drive had behind it when this lab began.
    pub fn life(&self) -> Life {
        self.pages().life
    }

    /// The lab ends at `now_ns`, up to which the drive has lived.
    ///
    /// # Errors
    /// [`LabError::Data`] if the list could not be written.
    pub(super) fn end(&self, now_ns: u64) -> Result<(), LabError> {
        let mut pages = self.pages();
        let hash = pages.answers.digest();
        pages.add(now_ns, Event::End(hash));
        match pages.failure.take() {
            Some(error) => Err(LabError::Data(error)),
            None => pages.file.flush().map_err(LabError::Data),
        }
    }
}

/// A device of which all is listed that it is asked.
pub struct Kept<D> {
    device: D,
    history: History,
    age_ns: u64,
}

impl<D: BlockDevice> Kept<D> {
    /// Makes `device`, a new one, the drive whose list is at `path`; without a file there it stays new.
    ///
    /// # Errors
    /// [`LabError::History`] if the list has no end, or the drive answers otherwise than it did: another model made the list;
    /// [`LabError::Data`] if it cannot be read or written.
    pub fn resume(device: D, path: &Path) -> Result<(Self, History), LabError> {
        let mut replay = Replay::new(device);
        let is_new = !path.exists();
        if !is_new {
            replay.all(path)?;
        }
        let file = File::options().create(true).append(true).open(path).map_err(LabError::Data)?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        if is_new {
            file.write_all(&MAGIC).map_err(LabError::Data)?;
        }
        let Replay { device, answers, life, .. } = replay;
        let history = History(Arc::new(Mutex::new(Pages { file, life, answers, failure: None })));
        Ok((Self { device, history: history.clone(), age_ns: life.age_ns }, history))
    }

    fn note(&self, now_ns: u64, event: Event) {
        self.history.pages().add(now_ns, event);
    }
}

impl<D: BlockDevice> BlockDevice for Kept<D> {
    fn capacity_bytes(&self) -> u64 {
        self.device.capacity_bytes()
    }

    fn queue_depth(&self) -> u32 {
        self.device.queue_depth()
    }

    fn speaks_ata(&self) -> bool {
        self.device.speaks_ata()
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        self.note(now_ns, Event::Request(request));
        self.device.submit(self.age_ns + now_ns, request);
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.device.next_event_ns().map(|at_ns| at_ns.saturating_sub(self.age_ns))
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        let before = completions.len();
        self.device.advance(self.age_ns.saturating_add(to_ns), completions);
        if completions.len() > before {
            let mut pages = self.history.pages();
            for completion in &mut completions[before..] {
                hear(&mut pages.answers, completion);
                completion.completed_ns -= self.age_ns;
            }
        }
    }

    fn power_loss(&mut self, at_ns: u64) -> Lost {
        self.note(at_ns, Event::PowerLoss);
        Lost { at_ns, ..self.device.power_loss(self.age_ns + at_ns) }
    }

    fn power_on(&mut self, at_ns: u64) -> u64 {
        self.note(at_ns, Event::PowerOn);
        self.device.power_on(self.age_ns + at_ns) - self.age_ns
    }

    fn reset(&mut self, now_ns: u64) {
        self.note(now_ns, Event::Reset);
        self.device.reset(self.age_ns + now_ns);
    }
}

fn hear(answers: &mut Xxh3, completion: &Completion) {
    let status = match completion.status {
        Status::Good => 0,
        Status::OutOfRange => 1,
        Status::Gone => 2,
        Status::Aborted => 3,
        Status::MediumError { offset_bytes } => 4 + offset_bytes,
    };
    for number in [u64::from(completion.tag), completion.completed_ns, status] {
        answers.update(&number.to_le_bytes());
    }
}

/// The next line of a list; `None` behind the last one. A list that ends within a line has an unexpected end.
fn next_record(list: &mut impl BufRead) -> Result<Option<[u8; RECORD_BYTES]>, Error> {
    if list.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut record = [0; RECORD_BYTES];
    list.read_exact(&mut record).map(|()| Some(record))
}

/// A drive that is asked again what it was asked before.
struct Replay<D> {
    device: D,
    answers: Xxh3,
    life: Life,
    in_flight: u32,
    is_off: bool,
    answered: Vec<Completion>,
}

impl<D: BlockDevice> Replay<D> {
    fn new(device: D) -> Self {
        Self { device, answers: Xxh3::new(), life: Life::default(), in_flight: 0, is_off: false, answered: Vec::new() }
    }

    fn all(&mut self, path: &Path) -> Result<(), LabError> {
        let refused = |reason| LabError::History { path: path.to_owned(), reason };
        let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(LabError::Data)?);
        let unread = |error: Error, reason| match error.kind() {
            ErrorKind::UnexpectedEof => refused(reason),
            _ => LabError::Data(error),
        };
        let no_list = "it is no list of a drive's requests";
        let mut magic = [0; MAGIC.len()];
        file.read_exact(&mut magic).map_err(|error| unread(error, no_list))?;
        if magic != MAGIC {
            return Err(refused(no_list));
        }
        let mut ended = false;
        while let Some(record) = next_record(&mut file).map_err(|error| unread(error, NO_END))? {
            let (at_ns, event) = Event::from_bytes(&record).ok_or_else(|| refused("it is damaged"))?;
            if at_ns < self.life.age_ns {
                return Err(refused("it is damaged: time runs backwards"));
            }
            self.live(at_ns);
            ended = matches!(event, Event::End(_));
            if !self.ask(at_ns, event) {
                return Err(refused("another version of the drive's model made it"));
            }
        }
        match ended {
            true => Ok(()),
            false => Err(refused(NO_END)),
        }
    }

    fn live(&mut self, to_ns: u64) {
        self.life.age_ns = to_ns;
        self.device.advance(to_ns, &mut self.answered);
        for completion in self.answered.drain(..) {
            self.in_flight = self.in_flight.saturating_sub(1);
            hear(&mut self.answers, &completion);
        }
    }

    /// Whether the drive still is the one that it was.
    fn ask(&mut self, at_ns: u64, event: Event) -> bool {
        match event {
            Event::Request(request) => {
                if self.in_flight >= self.device.queue_depth() {
                    return false;
                }
                self.in_flight += 1;
                self.device.submit(at_ns, request);
            }
            Event::PowerLoss => {
                self.device.power_loss(at_ns);
                self.life.losses += 1;
                (self.in_flight, self.is_off) = (0, true);
            }
            Event::PowerOn => {
                self.device.power_on(at_ns);
                self.is_off = false;
            }
            Event::Reset => self.device.reset(at_ns),
            Event::End(hash) if hash != self.answers.digest() => return false,
            Event::End(_) => self.come_to_rest(),
        }
        true
    }

    /// Nothing is left to do for anybody, and nothing is left that a loss of power could take.
    fn come_to_rest(&mut self) {
        if std::mem::take(&mut self.is_off) {
            self.device.power_on(self.life.age_ns);
        }
        self.finish();
        self.device
            .submit(self.life.age_ns, Request { tag: 0, verb: Verb::Flush, fua: false, offset_bytes: 0, bytes: 0 });
        self.finish();
    }

    fn finish(&mut self) {
        while let Some(at_ns) = self.device.next_event_ns() {
            self.live(at_ns.max(self.life.age_ns));
        }
        self.in_flight = 0;
    }
}

#[cfg(test)]
mod tests {
    use drive::{Drive, Profile};

    use super::*;

    const PROFILE: &str = include_str!("../../../../drives/wd40efax.toml");

    fn new() -> Drive {
        Drive::new(&Profile::parse(PROFILE).unwrap().scaled(1000).unwrap(), 1)
    }

    /// Writes all over the drive from `from_ns` on, one after the other, each with its answer's time.
    fn write(device: &mut dyn BlockDevice, from_ns: u64, places: std::ops::Range<u64>) -> (u64, Vec<u64>) {
        let (mut now_ns, mut times) = (from_ns, Vec::new());
        let mut completions = Vec::new();
        for place in places {
            let offset_bytes = place * 7919 % 900_000 * 4096;
            device.submit(now_ns, Request { tag: 0, verb: Verb::Write, fua: false, offset_bytes, bytes: 4096 });
            let began_ns = now_ns;
            now_ns = device.advance_to_completion(u64::MAX, &mut completions);
            completions.clear();
            times.push(now_ns - began_ns);
        }
        (now_ns, times)
    }

    #[test]
    fn a_drive_that_was_kept_goes_on_as_one_that_never_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests");
        let mut at_once = Replay::new(new());
        let (now_ns, _) = write(&mut at_once.device, 0, 0..3000);
        at_once.live(now_ns);
        at_once.come_to_rest();
        let (_, expected) = write(&mut at_once.device, at_once.life.age_ns, 3000..4000);

        let (mut first, history) = Kept::resume(new(), &path).unwrap();
        let (now_ns, fresh) = write(&mut first, 0, 0..3000);
        history.end(now_ns).unwrap();
        drop((first, history));
        let (mut second, history) = Kept::resume(new(), &path).unwrap();
        assert_eq!(history.life().age_ns, at_once.life.age_ns);
        let (now_ns, times) = write(&mut second, 0, 3000..4000);
        assert_eq!(times, expected);
        assert_ne!(times, fresh[..1000]);
        history.end(now_ns).unwrap();
        drop((second, history));
        Kept::resume(new(), &path).unwrap();
    }

    #[test]
    fn power_losses_are_kept_and_a_drive_without_power_has_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests");
        let (mut device, history) = Kept::resume(new(), &path).unwrap();
        let (now_ns, _) = write(&mut device, 0, 0..100);
        assert!(!device.power_loss(now_ns).ranges.is_empty());
        device.power_on(now_ns + 1);
        let (now_ns, _) = write(&mut device, now_ns + 1, 100..200);
        device.power_loss(now_ns);
        history.end(now_ns).unwrap();
        drop((device, history));
        let (mut device, history) = Kept::resume(new(), &path).unwrap();
        assert!(history.life().age_ns > now_ns);
        assert_eq!(history.life().losses, 2);
        assert_eq!(write(&mut device, 0, 0..1).1.len(), 1);
        assert!(device.power_loss(10_000_000_000).ranges.len() <= 1, "the others were flushed");
    }

    #[test]
    fn a_list_without_an_end_or_of_another_drive_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests");
        let (mut device, history) = Kept::resume(new(), &path).unwrap();
        let (now_ns, _) = write(&mut device, 0, 0..2000);
        history.end(now_ns).unwrap();
        drop((device, history));
        let said = |device| Kept::resume(device, &path).map(|_| ()).unwrap_err().to_string();
        let other = Drive::new(&Profile::parse(PROFILE).unwrap().scaled(500).unwrap(), 1);
        assert!(said(other).contains("another version"));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(said(new()).contains("no end"));
        std::fs::write(&path, [&bytes[..], &[0; 7]].concat()).unwrap();
        assert!(said(new()).contains("no end"), "what comes next would not begin where a line does");
        std::fs::write(&path, "text").unwrap();
        assert!(said(new()).contains("no list"));
        std::fs::write(&path, "").unwrap();
        assert!(said(new()).contains("no list"));
        let unread = Kept::resume(new(), folder.path()).map(|_| ()).unwrap_err();
        assert!(matches!(unread, LabError::Data(_)), "{unread}");
    }

    #[test]
    fn a_line_that_cannot_be_read_is_not_the_end() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> Result<usize, Error> {
                Err(Error::from_raw_os_error(5))
            }
        }
        let line = Event::Reset.to_bytes(7);
        let mut list = BufReader::new(line.as_slice().chain(Broken));
        assert!(next_record(&mut list).unwrap().is_some());
        assert!(next_record(&mut list).is_err());
    }

    #[test]
    fn the_lines_of_old_lists_mean_what_they_meant() {
        let request = |verb, fua| Event::Request(Request { tag: 1, verb, fua, offset_bytes: 512, bytes: 1024 });
        let known = [
            (0, request(Verb::Read, false)),
            (1, request(Verb::Write, false)),
            (2, request(Verb::Flush, false)),
            (3, request(Verb::Trim, false)),
            (17, request(Verb::Write, true)),
            (32, Event::PowerLoss),
            (35, Event::End(9)),
        ];
        for (kind, event) in known {
            let line = event.to_bytes(7);
            assert_eq!(line[..4], [kind, 0, 0, 0]);
            assert_eq!(Event::from_bytes(&line).unwrap().1.to_bytes(7), line);
        }
        for kind in [4_u32, 31, 36, 48, 0x100] {
            let mut line = Event::Reset.to_bytes(7);
            line[..4].copy_from_slice(&kind.to_le_bytes());
            assert!(Event::from_bytes(&line).is_none(), "{kind}");
        }
    }
}
