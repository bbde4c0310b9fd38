//! The fixed newstyle handshake: a client asks what there is, and goes on to use it or leaves.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use drive::SECTOR_BYTES;

use super::wire::{self, handshake_flag, info, option, option_reply};

/// A client has this long for the whole handshake: nobody may hold a place by doing nothing, or one byte at a time.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest option that is read: a name of 4096 bytes, the protocol's limit, and every kind of information.
const OPTION_MAX_BYTES: u32 = 16 << 10;

/// What is offered.
pub(super) struct Export {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) bytes: u64,
}

/// How a handshake ended that broke no rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The client uses the drive from here on.
    Transmission,
    /// The client has said goodbye.
    Ended,
}

/// Plays the server's part on a fresh connection. An error means that the connection is of no use any more.
pub(super) fn negotiate(stream: &UnixStream, export: &Export) -> io::Result<Outcome> {
    let deadline = Instant::now() + PATIENCE;
    let mut talk = Talk { stream, deadline, export, no_zeroes: false };
    stream.set_write_timeout(Some(PATIENCE))?;
    let outcome = talk.greet().and_then(|()| talk.haggle());
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    outcome
}

struct Talk<'a> {
    stream: &'a UnixStream,
    deadline: Instant,
    export: &'a Export,
    /// The client does without 124 useless bytes.
    no_zeroes: bool,
}

impl Talk<'_> {
    fn greet(&mut self) -> io::Result<()> {
        let flags = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
        self.send(&[wire::MAGIC, wire::OPTION_MAGIC, &flags.to_be_bytes()])?;
        let client_flags = self.read_u32()?;
        if client_flags & !u32::from(flags) != 0 {
            return Err(violation("flags that the server did not offer"));
        }
        self.no_zeroes = client_flags & u32::from(handshake_flag::NO_ZEROES) != 0;
        Ok(())
    }

    /// Answers option after option until one ends the handshake.
    fn haggle(&mut self) -> io::Result<Outcome> {
        loop {
            if &self.read_array::<8>()? != wire::OPTION_MAGIC {
                return Err(violation("an option without its magic number"));
            }
            let option = self.read_u32()?;
            let data = self.read_option_data()?;
            match option {
                option::EXPORT_NAME => return self.export_name(&data),
                option::ABORT => {
                    // The client may be gone without waiting for the answer.
                    let _ = self.reply(option, option_reply::ACK, &[]);
                    return Ok(Outcome::Ended);
                }
                option::LIST => self.list(&data)?,
                option::INFO | option::GO => {
                    if self.describe(option, &data)? && option == option::GO {
                        return Ok(Outcome::Transmission);
                    }
                }
                _ => self.reply(option, option_reply::ERR_UNSUP, &[b"this server does not know the option"])?,
            }
        }
    }

    fn read_option_data(&mut self) -> io::Result<Vec<u8>> {
        let bytes = self.read_u32()?;
        if bytes > OPTION_MAX_BYTES {
            return Err(violation("an option of unreasonable length"));
        }
        let mut data = vec![0; bytes as usize];
        self.read_exact(&mut data)?;
        Ok(data)
    }

    /// The oldest way to begin, which has no way to refuse but to hang up.
    fn export_name(&mut self, name: &[u8]) -> io::Result<Outcome> {
        if !self.is_ours(name) {
            return Err(violation("an unknown export"));
        }
        let zeroes: &[u8] = if self.no_zeroes { &[] } else { &[0; 124] };
        self.send(&[&self.export.bytes.to_be_bytes(), &wire::TRANSMISSION_FLAGS.to_be_bytes(), zeroes])?;
        Ok(Outcome::Transmission)
    }

    fn list(&mut self, data: &[u8]) -> io::Result<()> {
        if !data.is_empty() {
            return self.reply(option::LIST, option_reply::ERR_INVALID, &[b"LIST takes no data"]);
        }
        let Export { name, description, .. } = self.export;
        let parts: [&[u8]; 3] = [&(name.len() as u32).to_be_bytes(), name.as_bytes(), description.as_bytes()];
        self.reply(option::LIST, option_reply::SERVER, &parts)?;
        self.reply(option::LIST, option_reply::ACK, &[])
    }

    /// INFO and GO: says what the client wants to know about the export. False if it was refused.
    fn describe(&mut self, option: u32, data: &[u8]) -> io::Result<bool> {
        let Some((name, wanted)) = parse_info_request(data) else {
            self.reply(option, option_reply::ERR_INVALID, &[b"malformed request for information"])?;
            return Ok(false);
        };
        if !self.is_ours(name) {
            self.reply(option, option_reply::ERR_UNKNOWN, &[b"there is no such export"])?;
            return Ok(false);
        }
        let Export { name, description, bytes } = self.export;
        let information = |kind: u16, parts: &[&[u8]]| {
            let data = [&kind.to_be_bytes()[..], &parts.concat()].concat();
            self.reply(option, option_reply::INFO, &[&data])
        };
        information(info::EXPORT, &[&bytes.to_be_bytes(), &wire::TRANSMISSION_FLAGS.to_be_bytes()])?;
        let sizes = [SECTOR_BYTES as u32, wire::PREFERRED_BYTES, wire::PAYLOAD_MAX_BYTES].map(u32::to_be_bytes);
        information(info::BLOCK_SIZE, &[sizes.as_flattened()])?;
        if wanted.contains(&info::NAME) {
            information(info::NAME, &[name.as_bytes()])?;
        }
        if wanted.contains(&info::DESCRIPTION) {
            information(info::DESCRIPTION, &[description.as_bytes()])?;
        }
        self.reply(option, option_reply::ACK, &[])?;
        Ok(true)
    }

    fn is_ours(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    fn reply(&self, option: u32, kind: u32, data: &[&[u8]]) -> io::Result<()> {
        let data = data.concat();
        self.send(&[
            &wire::OPTION_REPLY_MAGIC.to_be_bytes(),
            &option.to_be_bytes(),
            &kind.to_be_bytes(),
            &(data.len() as u32).to_be_bytes(),
            &data,
        ])
    }

    fn send(&self, parts: &[&[u8]]) -> io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(&parts.concat())
    }

    fn read_u32(&mut self) -> io::Result<u32> {
        self.read_array().map(u32::from_be_bytes)
    }

    fn read_array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut raw = [0; N];
        self.read_exact(&mut raw)?;
        Ok(raw)
    }
}

impl Read for Talk<'_> {
    /// Reads what is left of the client's time.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

/// The name and the kinds of information asked for.
fn parse_info_request(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let (name_bytes, rest) = data.split_first_chunk::<4>()?;
    let name_bytes = u32::from_be_bytes(*name_bytes) as usize;
    let (name, rest) = rest.split_at_checked(name_bytes)?;
    let (count, rest) = rest.split_first_chunk::<2>()?;
    let kinds: Vec<u16> = rest.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    (rest.len() == 2 * usize::from(u16::from_be_bytes(*count))).then_some((name, kinds))
}

fn violation(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the client sent {what}"))
}
