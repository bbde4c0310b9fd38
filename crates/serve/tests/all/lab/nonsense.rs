//! A guest that says what makes no sense: that is an error of the lab, and never the lab's end.

use serve::lab::FrontKind;

use super::{blk_head, drive, play};
use crate::fake_guest::scripted::Scripted;
use crate::fake_guest::wire::{tt, vhost};
use crate::fake_guest::FakeGuest;

#[test]
fn nonsense_is_an_error_of_the_lab_and_not_of_a_drive() {
    let error = |script: fn(&mut FakeGuest)| {
        play(vec![drive(Scripted::new(), FrontKind::Blk)], |mut guest| {
            script(&mut guest);
            guest.linger();
        })
        .1
        .expect_err("nonsense")
        .to_string()
    };
    assert!(error(|guest| guest.say(77, 0)).contains("operation 77"));
    let backwards = |guest: &mut FakeGuest| {
        guest.say(tt::UPDATE, 1000);
        guest.say(tt::UPDATE, 999);
    };
    assert!(error(backwards).contains("runs backwards, from 1000 to 999 ns"));
    assert!(error(|guest| guest.say(tt::ACK, 0)).contains("operation 0"));
    fn knock(guest: &mut FakeGuest, drive: usize, queue: usize) {
        guest.kick(drive, queue);
        guest.sleep();
    }
    assert!(error(|guest| knock(guest, 3, 0)).contains("there is no drive 3"));
    assert!(error(|guest| knock(guest, 0, 9)).contains("there is no queue 9"));
    let no_room_for_the_status = |guest: &mut FakeGuest| {
        guest.offer(0, 0, &[&blk_head(0, 0)], 0);
        knock(guest, 0, 0);
    };
    assert!(error(no_room_for_the_status).contains("too short"));
    let a_queue_shrinks = |guest: &mut FakeGuest| {
        guest.blk_read(0, 80, 512);
        guest.kick(0, 0);
        guest.tell_port(0, vhost::SET_VRING_NUM, &[0; 8]);
        guest.sleep();
    };
    assert!(error(a_queue_shrinks).contains("no room for anything"));
    let a_queue_far_away = |guest: &mut FakeGuest| {
        let address = [[0; 8], [0xff; 8], [0xff; 8], [0xff; 8], [0xff; 8]].concat();
        guest.tell_port(0, vhost::SET_VRING_ADDR, &address);
        knock(guest, 0, 0);
    };
    assert!(error(a_queue_far_away).contains("beyond all memory"));
    let too_long = |guest: &mut FakeGuest| guest.tell_port(0, vhost::SET_CONFIG, &[0; 8192]);
    assert!(error(too_long).contains("longer than 4096 bytes"));
}
