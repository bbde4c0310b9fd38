//! A guest that is a script: it speaks both protocols as the kernel does, keeps its memory in a file, and checks of the
//! clock whatever can be checked.

#![allow(dead_code)]

pub mod scripted;
pub mod wire;

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{memfd_create, MemfdFlags};

use wire::{tt, vhost};

const QUEUE_SIZE: u16 = 256;
/// Where the memory that is shared begins, for the guest and in its file: as with the real one, not the same.
const BASE: u64 = 0x10_0000;
const FILE_OFFSET: u64 = 0x1234;
const MEMORY_BYTES: u64 = 64 << 20;
/// Of each queue: descriptors, available ring, used ring.
const RING_BYTES: u64 = 0x4000;

/// A request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub drive: usize,
    pub id: u64,
    pub at_ns: u64,
    pub data: Vec<u8>,
}

struct Pending {
    id: u64,
    answer_at: u64,
    answer_bytes: usize,
}

#[derive(Default)]
struct Queue {
    base: u64,
    submitted: u16,
    seen: u16,
    pending: HashMap<u16, Pending>,
}

struct Drive {
    socket: UnixStream,
    /// Its end of the way on which nothing is said.
    _backend: UnixStream,
    queues: Vec<Queue>,
}

/// The guest.
pub struct FakeGuest {
    clock: UnixStream,
    drives: Vec<Drive>,
    memory: File,
    next_free: u64,
    seq: u32,
    pub now_ns: u64,
    free_until_ns: Option<u64>,
    waiting: bool,
    next_id: u64,
    pub answered: Vec<Answered>,
}

impl FakeGuest {
    /// Boots in a lab's folder: drives by the virtio device ids.
    pub fn boot(folder: &Path, virtio_ids: &[u32]) -> Self {
        let clock = UnixStream::connect(folder.join("tt")).expect("the clock listens");
        let memory = File::from(memfd_create("guest", MemfdFlags::CLOEXEC).expect("memory"));
        memory.set_len(FILE_OFFSET + MEMORY_BYTES).expect("room");
        let mut guest = Self {
            clock,
            drives: Vec::new(),
            memory,
            next_free: BASE,
            seq: 0,
            now_ns: 0,
            free_until_ns: None,
            waiting: false,
            next_id: 0,
            answered: Vec::new(),
        };
        guest.tell(tt::START, 1);
        for (index, id) in virtio_ids.iter().enumerate() {
            guest.plug_in(folder, index, if *id == 8 { 3 } else { 1 });
        }
        guest
    }

    fn plug_in(&mut self, folder: &Path, index: usize, queues: usize) {
        let socket = UnixStream::connect(folder.join(format!("d{index}"))).expect("the drive listens");
        let (backend, theirs) = UnixStream::pair().expect("a pair");
        vhost::send(&socket, vhost::SET_OWNER, 1, &[], &[]);
        vhost::send(&socket, vhost::GET_FEATURES, 1, &[], &[]);
        let features = u64::from_ne_bytes(vhost::receive(&socket, vhost::GET_FEATURES).try_into().expect("a number"));
        assert_eq!(features & (1 << 30 | 1 << 32), 1 << 30 | 1 << 32, "virtio 1 over vhost-user");
        vhost::send(&socket, vhost::GET_PROTOCOL_FEATURES, 1, &[], &[]);
        vhost::receive(&socket, vhost::GET_PROTOCOL_FEATURES);
        vhost::send(&socket, vhost::SET_PROTOCOL_FEATURES, 1, &[0; 8], &[]);
        vhost::ask(&socket, vhost::SET_BACKEND_REQ_FD, &[], &[theirs.as_fd()]);
        vhost::ask(&socket, vhost::SET_FEATURES, &features.to_ne_bytes(), &[]);
        let table: Vec<u8> =
            [1, BASE, MEMORY_BYTES, BASE, FILE_OFFSET].iter().flat_map(|number: &u64| number.to_ne_bytes()).collect();
        vhost::ask(&socket, vhost::SET_MEM_TABLE, &table, &[self.memory.as_fd()]);
        let mut rings = Vec::new();
        for queue in 0..queues {
            let base = self.allocate(RING_BYTES);
            let pair = |value: u32| [queue as u32, value].map(u32::to_ne_bytes).concat();
            vhost::ask(&socket, vhost::SET_VRING_NUM, &pair(QUEUE_SIZE.into()), &[]);
            vhost::ask(&socket, vhost::SET_VRING_BASE, &pair(0), &[]);
            let addresses = [base, base + 0x2000, base + 0x1000, u64::MAX];
            let addresses: Vec<u8> = addresses.iter().flat_map(|address| address.to_ne_bytes()).collect();
            vhost::ask(&socket, vhost::SET_VRING_ADDR, &[pair(0), addresses].concat(), &[]);
            vhost::ask(&socket, vhost::SET_VRING_KICK, &(queue as u64 | 1 << 8).to_ne_bytes(), &[]);
            vhost::ask(&socket, vhost::SET_VRING_ENABLE, &pair(1), &[]);
            rings.push(Queue { base, ..Queue::default() });
        }
        self.drives.push(Drive { socket, _backend: backend, queues: rings });
    }

    /// The configuration space of a drive.
    pub fn configuration(&self, drive: usize, bytes: u32) -> Vec<u8> {
        let head = [0, bytes, 0].map(u32::to_ne_bytes).concat();
        let socket = &self.drives[drive].socket;
        vhost::send(socket, vhost::GET_CONFIG, 1, &[head, vec![0; bytes as usize]].concat(), &[]);
        vhost::receive(socket, vhost::GET_CONFIG)[12..].to_vec()
    }

    /// Writes into it.
    pub fn configure(&self, drive: usize, at: u32, bytes: &[u8]) {
        let head = [at, bytes.len() as u32, 0].map(u32::to_ne_bytes).concat();
        vhost::ask(&self.drives[drive].socket, vhost::SET_CONFIG, &[&head, bytes].concat(), &[]);
    }

    /// Tells a drive's port something, and waits for no answer.
    pub fn tell_port(&self, drive: usize, request: u32, payload: &[u8]) {
        vhost::send(&self.drives[drive].socket, request, 1, payload, &[]);
    }

    fn allocate(&mut self, bytes: u64) -> u64 {
        let at = self.next_free;
        self.next_free += bytes.next_multiple_of(64);
        assert!(self.next_free <= BASE + MEMORY_BYTES, "the script is too long for the guest's memory");
        at
    }

    fn write(&self, address: u64, data: &[u8]) {
        self.memory.write_all_at(data, FILE_OFFSET + address - BASE).expect("in memory");
    }

    fn read(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        self.memory.read_exact_at(&mut data, FILE_OFFSET + address - BASE).expect("in memory");
        data
    }

    fn read_u16(&self, address: u64) -> u16 {
        u16::from_le_bytes(self.read(address, 2).try_into().expect("two bytes"))
    }

    /// Offers a chain: what the device reads, in several pieces, and room for the answer. Returns its number.
    pub fn offer(&mut self, drive: usize, queue: usize, out: &[&[u8]], answer_bytes: usize) -> u64 {
        let mut table = Vec::new();
        let mut buffers = Vec::new();
        for piece in out {
            let at = self.allocate(piece.len() as u64);
            self.write(at, piece);
            buffers.push((at, piece.len(), 0));
        }
        let answer_at = self.allocate(answer_bytes as u64);
        // Answers come in two buffers that touch, to see that borders do not matter.
        let first = answer_bytes.min(5);
        buffers.push((answer_at, first, 2));
        if answer_bytes > first {
            buffers.push((answer_at + first as u64, answer_bytes - first, 2));
        }
        for (index, (at, bytes, flags)) in buffers.iter().enumerate() {
            let last = index + 1 == buffers.len();
            table.extend(at.to_le_bytes());
            table.extend((*bytes as u32).to_le_bytes());
            table.extend((flags | u16::from(!last)).to_le_bytes());
            table.extend((index as u16 + 1).to_le_bytes());
        }
        let indirect = self.allocate(table.len() as u64);
        self.write(indirect, &table);
        let (base, submitted) = (self.drives[drive].queues[queue].base, self.drives[drive].queues[queue].submitted);
        let head = (0..QUEUE_SIZE)
            .find(|head| !self.drives[drive].queues[queue].pending.contains_key(head))
            .expect("the queue is not full");
        let mut descriptor = indirect.to_le_bytes().to_vec();
        descriptor.extend((table.len() as u32).to_le_bytes());
        descriptor.extend([4, 0, 0, 0]);
        self.write(base + 16 * u64::from(head), &descriptor);
        self.write(base + 0x1000 + 4 + 2 * u64::from(submitted % QUEUE_SIZE), &head.to_le_bytes());
        self.write(base + 0x1000 + 2, &submitted.wrapping_add(1).to_le_bytes());
        let id = self.next_id;
        self.next_id += 1;
        let ring = &mut self.drives[drive].queues[queue];
        ring.submitted = submitted.wrapping_add(1);
        ring.pending.insert(head, Pending { id, answer_at, answer_bytes });
        id
    }

    /// Says that something was offered. What the drive makes of it may be due at any time: so time does not pass until the
    /// clock was asked.
    pub fn kick(&mut self, drive: usize, queue: usize) {
        assert!(!self.waiting);
        tt::send(&self.clock, tt::KICK, (drive << 8 | queue) as u32, self.now_ns);
        self.free_until_ns = None;
    }

    /// Lets time pass until `until_ns`, answers taken on the way; stops early as soon as one has come.
    pub fn wait(&mut self, until_ns: u64) {
        let before = self.answered.len();
        while self.now_ns < until_ns && self.answered.len() == before {
            if self.free_until_ns.is_some_and(|free_until_ns| until_ns < free_until_ns) {
                self.now_ns = until_ns;
                return;
            }
            self.say(tt::REQUEST, until_ns);
            self.waiting = true;
            self.free_until_ns = None;
            self.say(tt::WAIT, u64::MAX);
            while self.waiting {
                self.hear();
            }
            self.collect();
        }
    }

    /// Takes what was given back.
    fn collect(&mut self) {
        for drive in 0..self.drives.len() {
            for queue in 0..self.drives[drive].queues.len() {
                let base = self.drives[drive].queues[queue].base + 0x2000;
                while self.drives[drive].queues[queue].seen != self.read_u16(base + 2) {
                    let slot = u64::from(self.drives[drive].queues[queue].seen % QUEUE_SIZE);
                    let element = self.read(base + 4 + 8 * slot, 8);
                    let head = u16::from_le_bytes([element[0], element[1]]);
                    let ring = &mut self.drives[drive].queues[queue];
                    ring.seen = ring.seen.wrapping_add(1);
                    let pending = ring.pending.remove(&head).expect("each request is answered once");
                    let data = self.read(pending.answer_at, pending.answer_bytes);
                    self.answered.push(Answered { drive, id: pending.id, at_ns: self.now_ns, data });
                }
            }
        }
    }

    /// How many requests wait for their answer.
    pub fn pending(&self) -> usize {
        self.drives.iter().flat_map(|drive| &drive.queues).map(|queue| queue.pending.len()).sum()
    }

    /// Waits for the answer to a request and takes it.
    pub fn answer(&mut self, id: u64) -> Answered {
        for _ in 0..10_000 {
            if let Some(index) = self.answered.iter().position(|answered| answered.id == id) {
                return self.answered.remove(index);
            }
            self.wait(self.now_ns + 1_000_000_000_000);
        }
        panic!("request {id} is never answered");
    }

    /// Says something to the clock and returns the time in the answer.
    fn tell(&mut self, op: u32, time_ns: u64) -> u64 {
        self.seq += 1;
        tt::send(&self.clock, op, self.seq, time_ns);
        let (op, seq, time_ns) = tt::receive(&self.clock);
        assert_eq!((op, seq), (tt::ACK, self.seq), "who runs is told what it asks and nothing else");
        time_ns
    }

    fn hear(&mut self) {
        let (op, seq, time_ns) = tt::receive(&self.clock);
        assert!(self.waiting, "who does not wait is told nothing");
        match op {
            tt::RUN => {
                assert!(time_ns >= self.now_ns, "time runs backwards, from {} to {time_ns}", self.now_ns);
                self.now_ns = time_ns;
                self.waiting = false;
            }
            tt::FREE_UNTIL => self.free_until_ns = Some(time_ns),
            tt::CALL => {
                let (drive, queue) = ((seq >> 8) as usize, (seq & 0xff) as usize);
                assert!(queue < self.drives[drive].queues.len());
                assert!(time_ns >= self.now_ns, "time runs backwards");
                self.now_ns = time_ns;
            }
            other => panic!("the clock says {other}"),
        }
    }

    /// Sends the clock something out of order.
    pub fn say(&mut self, op: u32, time_ns: u64) {
        self.seq += 1;
        tt::send(&self.clock, op, self.seq, time_ns);
    }

    /// Sleeps for ever: only a drive could wake it.
    pub fn sleep(&mut self) {
        self.say(tt::REQUEST, i64::MAX as u64);
        self.say(tt::WAIT, u64::MAX);
    }

    /// Until the clock hangs up.
    pub fn linger(mut self) {
        self.clock.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let mut rest = [0; 4096];
        while self.clock.read(&mut rest).is_ok_and(|bytes| bytes > 0) {}
    }
}

/// Something that ends a guest's process for the lab.
pub fn process() -> (OwnedFd, impl FnOnce()) {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair");
    (OwnedFd::from(ours), move || theirs.write_all(&[0]).expect("a byte"))
}
