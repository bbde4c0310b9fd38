//! What is refused, and how it is told.

use workload::JobFile;

const CAPACITY: u64 = 1 << 30;

#[test]
fn every_refusal_names_section_option_and_reason() {
    for (text, section, option, reason) in [
        ("[global]\niodeph=4\n[a]\nrw=read", "global", "iodeph", "there is no such option"),
        ("[a]\ndirect=0", "a", "direct", "page cache"),
        ("[a]\nbuffered=1", "a", "buffered", "page cache"),
        ("[a]\nrate_min=1m", "a", "rate_min", "not ended for being slow"),
        ("[a]\niodepth_batch=4", "a", "iodepth_batch", "one by one"),
        ("[a]\nfilename=/dev/sda", "a", "filename", "chosen outside"),
        ("[a]\nioengine=mmap", "a", "ioengine", "must be one of"),
        ("[a]\nrw=backwards", "a", "rw", "must be one of"),
        ("[a]\nrw=read:-4k", "a", "rw", "backwards"),
        ("[a]\nrw", "a", "rw", "needs a value"),
        ("[a]\nbs=1000", "a", "bs", "not a multiple"),
        ("[a]\nbs=0", "a", "bs", "no bytes"),
        ("[a]\nbsrange=64k-4k", "a", "bsrange", "backwards"),
        ("[a]\nbssplit=4k/70:8k/40", "a", "bssplit", "add up to 110"),
        ("[a]\nsize=2g", "a", "size", "are left on the target"),
        ("[a]\nsize=200%", "a", "size", "1% to 100%"),
        ("[a]\noffset=100%", "a", "offset", "no room"),
        ("[a]\noffset=100", "a", "offset", "not a multiple"),
        ("[a]\nruntime=30min", "a", "runtime", "no unit of time"),
        ("[a]\nsize=1.5g", "a", "size", "not a whole number"),
        ("[a]\ntime_based", "a", "time_based", "needs a runtime"),
        ("[a]\ntime_based\nruntime=0", "a", "runtime", "needs some time"),
        ("[a]\nrwmixread=101", "a", "rwmixread", "0 to 100"),
        ("[a]\nrwmixread=70\nrwmixwrite=40", "a", "rwmixwrite", "contradicts"),
        ("[a]\nrate=1m\nrate_iops=5", "a", "rate_iops", "either"),
        ("[a]\nbssplit=4k/50:64k/50\nrate_iops=100", "a", "rate_iops", "100 times the shortest request's 4096"),
        ("[a]\nbssplit=4k/0:64k/100\nrate_iops=100", "a", "rate_iops", "the shortest request's 4096"),
        ("[a]\nrw=write\nbsrange=8k-64k\nrate_iops=,7", "a", "rate_iops", "7 times the shortest request's 8192"),
        ("[a]\nrw=randrw\nbssplit=8k/100,4k/50:8k/50\nrate_iops=7", "a", "rate_iops", "shortest request's 4096"),
        ("[a]\nrandom_distribution=zipf:1", "a", "random_distribution", "not 1"),
        ("[a]\nrandom_distribution=zoned_abs:50/1g:50/1g", "a", "random_distribution", "of 1073741824"),
        ("[a]\nnumjobs=9999", "a", "numjobs", "at most"),
        ("[a]\niodepth=0", "a", "iodepth", "at least 1"),
        ("[a]\ninclude other.fio", "a", "include", "not read"),
        ("[a]\nrandseed=1\nrandrepeat=1", "a", "randrepeat", "does away with randseed"),
        ("[a]\nrandseed=1\nallrandrepeat", "a", "allrandrepeat", "does away with randseed"),
        ("[a]\nloops=many", "a", "loops", "not a whole number"),
        ("[a]\nloops=1.5", "a", "loops", "not a whole number"),
        ("[a]\nloops=50%", "a", "loops", "not a whole number"),
        ("[a]\nnumber_ios=-1", "a", "number_ios", "`-1` is below 0"),
        ("[a]\nsize=-4k", "a", "size", "`-4k` is below 0"),
        ("[a]\nnumber_ios=18446744073709551616", "a", "number_ios", "`18446744073709551616` is too large"),
        ("[a]\nnumber_ios=20000000t", "a", "number_ios", "`20000000t` is too large"),
    ] {
        let error = JobFile::parse(text, CAPACITY).expect_err(text);
        assert_eq!((error.section.as_str(), error.option.as_str()), (section, option), "{text}");
        assert!(error.reason.contains(reason), "{text}: {error}");
        assert!(error.to_string().starts_with(&format!("[{section}] {option}")), "{error}");
    }
}

/// Of one size a rate in requests is what it says, and of what a job does not do nothing is said.
#[test]
fn a_rate_in_requests_of_one_size_is_one() {
    for text in [
        "[a]\nbssplit=64k/100\nrate_iops=100",
        "[a]\nbsrange=8k-8k\nrate_iops=100",
        "[a]\nrw=randrw\nbs=4k,64k\nrate_iops=100",
        "[a]\nrw=randread\nbssplit=8k/100,4k/50:8k/50\nrate_iops=7",
        "[a]\nrw=randrw\nbssplit=8k/100,4k/50:8k/50\nrate_iops=7,0",
        "[a]\nbssplit=4k/50:64k/50\nrate=400k",
    ] {
        JobFile::parse(text, CAPACITY).expect(text);
    }
    let refused = JobFile::parse("[a]\nbssplit=4k/50:64k/50\nrate_iops=100", CAPACITY).unwrap_err();
    assert_eq!(refused.hint, "say so with `rate=409600`, or give one size");
}

#[test]
fn a_typo_gets_a_suggestion() {
    let error = JobFile::parse("[a]\niodpeth=4", CAPACITY).unwrap_err();
    assert_eq!(error.hint, "did you mean `iodepth`?");
    assert_eq!(error.to_string(), "[a] iodpeth=4: there is no such option");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(\\[[a-z]{0,3}\\]?\n)?((rw|bs|size|offset|io_size|bssplit|rate|random_distribution|numjobs)=[0-9a-z:/,%.-]{0,9}\n){0,4}") {
        let _ = JobFile::parse(&text, CAPACITY);
    }
}
