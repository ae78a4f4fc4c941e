#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| archecs_fuzz::world_ops(bytes));
