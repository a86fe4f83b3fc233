use super::*;

fn set(key: &str, value: &str) -> Result<PartwiseConfig> {
    let mut config = PartwiseConfig::default();
    config.set(key, value)?;
    Ok(config)
}

fn message(result: Result<PartwiseConfig>) -> String {
    result.expect_err("refused").strip_backtrace()
}

#[test]
fn every_setting_reads_back_what_it_shows() {
    let mut config = PartwiseConfig::default();
    config.set("job", "nightly").expect("job");
    config.set("run", "20240215").expect("run");
    config.set("compression", "zstd(3)").expect("compression");
    for entry in config.entries() {
        let name = entry.key.strip_prefix("partwise.").expect("prefix");
        let mut other = config.clone();
        other.set(name, &entry.value.expect("shown")).expect("reads back");
        assert_eq!(other, config, "{name}");
    }
}

#[test]
fn sizes_and_durations_take_units() {
    assert_eq!(set("target_file_size", "128 MB").expect("MB").target_file_bytes, 128_000_000);
    assert_eq!(set("target_file_size", "1.5GiB").expect("GiB").target_file_bytes, 3 << 29);
    assert_eq!(set("target_file_size", "4096").expect("bytes").target_file_bytes, 4096);
    assert_eq!(set("lock_timeout", "90").expect("bare").lock_timeout, Duration::from_secs(90));
    assert_eq!(set("lock_timeout", "0").expect("zero").lock_timeout, Duration::ZERO);
    assert_eq!(set("lock_timeout", "1.5 s").expect("s").lock_timeout.as_millis(), 1500);
    assert_eq!(set("retention", "12 hours").expect("hours").retention.as_secs(), 43_200);
    assert_eq!(set("retention", "0").expect("zero").retention, Duration::ZERO);
    assert_eq!(set("retention", "2 weeks").expect("weeks").retention.as_secs(), 1_209_600);
}

#[test]
fn a_wrong_value_names_the_accepted_ones() {
    let mode = message(set("partition_overwrite_mode", "both"));
    assert!(mode.contains("'dynamic' and 'static'"), "{mode}");
    assert!(message(set("max_shrink", "1.5")).contains("from 0 to 1"));
    assert!(message(set("max_shrink", "NaN")).contains("from 0 to 1"));
    assert!(message(set("distribution", "hash")).contains("'tidy' and 'none'"));
    assert!(message(set("compression", "snapy")).contains("snappy"));
    assert!(message(set("target_file_size", "12 parsecs")).contains("'128 MB'"));
    assert!(message(set("target_file_size", "0")).contains("bytes"));
    assert!(message(set("retention", "7")).contains("'7 days'"));
    assert!(message(set("max_open_writers", "0")).contains("from 1 on"));
    assert!(message(set("run", "tonight")).contains("whole numbers"));
}

#[test]
fn an_unknown_setting_lists_those_there_are() {
    let unknown = message(set("overwrite_mode", "static"));
    assert!(unknown.contains("partition_overwrite_mode"), "{unknown}");
}

#[test]
fn settings_are_listed_in_alphabetical_order() {
    assert!(PartwiseConfig::names().is_sorted());
}

#[test]
fn reset_brings_a_default_back_and_clears_what_has_none() {
    let mut config = set("max_shrink", "1").expect("set");
    config.set("job", "nightly").expect("set");
    config.reset("max_shrink").expect("reset");
    config.reset("job").expect("reset");
    assert_eq!(config, PartwiseConfig::default());
}

#[test]
fn a_job_without_a_run_is_an_error() {
    assert!(set("job", "nightly").expect("set").job_run().is_err());
    assert!(set("run", "7").expect("set").job_run().is_err());
    let mut both = set("job", "nightly").expect("set");
    both.set("run", "7").expect("set");
    assert_eq!(both.job_run().expect("both"), Some(("nightly", 7)));
}

#[test]
fn set_and_show_work_through_a_session() {
    let mut options = ConfigOptions::new();
    options.extensions.insert(PartwiseConfig::default());
    options.set("partwise.max_shrink", "1").expect("set");
    assert_eq!(PartwiseConfig::of(&options).max_shrink, 1.0);
    assert!(options.entries().iter().any(|entry| entry.key == "partwise.retention"));
}
