//! Results of each finding, beside those computed by hand.

/// The results of a finding's computations: value, low, high.
fn results(study: &str, finding: &str) -> Vec<[f64; 3]> {
    let study = corun_study::find(study).expect("a study");
    let found = study.findings.iter().find(|it| it.id == finding).expect("a finding");
    let result = |it: &corun_study::Computation| {
        let range = it.result(&study.figures);
        [range.value, range.low, range.high]
    };
    found.computation.iter().map(result).collect()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} is not {expected}");
}

#[test]
fn a_cost_is_called_a_gain() {
    let [cost, gain] = results("smt-test-2020", "fifty-two-percent")[..] else { panic!() };
    close(cost[0], 1.526);
    close(gain[0], 1.2436);
}

#[test]
fn whole_numbers_leave_a_range() {
    let [[value, low, high]] = results("ibm-aim9-2003", "sieve")[..] else { panic!() };
    assert_eq!((value, low), (1.6, 1.5));
    close(high, 25.0 / 15.0);
}

#[test]
fn a_rate_is_a_single_call() {
    let calls = results("ibm-aim9-2003", "sync-disk");
    let by_hand = [239.0, 155.0, 97.0, 60.0, 97.0, 60.0].map(|rate| rate * 10.0 / 2560.0);
    assert_eq!(calls.len(), by_hand.len());
    for (found, expected) in calls.iter().zip(by_hand) {
        close(found[0], expected);
        assert!(found[0] < 1.0, "the one call outlasts the ten seconds");
    }
}

#[test]
fn a_mean_names_its_missing_member() {
    let [mean, member] = results("ibm-chat", "forty-rooms")[..] else { panic!() };
    // Each member was rounded to a percent, as was the mean.
    close(mean[0], 1.4751);
    close(mean[1], (1.505_f64 * 1.405 * 1.595 * 1.385).powf(0.25));
    close(mean[2], (1.515_f64 * 1.415 * 1.605 * 1.395).powf(0.25));
    close(member[1], 1.445_f64.powi(4) / (1.515 * 1.415 * 1.395));
    close(member[2], 1.455_f64.powi(4) / (1.505 * 1.405 * 1.385));
    assert!(member[2] < 1.595, "60 % is outside whatever was rounded");
}

#[test]
fn little_of_an_array_is_touched() {
    assert_eq!(results("os-lecture", "ram-is-no-ram"), [[0.01; 3]; 2]);
}

#[test]
fn a_switch_gain_is_not_a_yield() {
    let [switch, yielded] = results("os-lecture", "one-eighty-four")[..] else { panic!() };
    close(switch[0], 1.840);
    close(yielded[0], 1.863);
}

#[test]
fn time_saved_is_not_work_gained() {
    let saved = results("ht-aware-scheduler-2002", "time-saved");
    for (found, expected) in saved.iter().zip([0.0534, 0.1522, 0.1071]) {
        assert!((found[0] - expected).abs() < 5e-5, "{found:?}");
    }
    close(saved[0][1], 1.0 - 195.5 / 205.5);
    close(saved[0][2], 1.0 - 194.5 / 206.5);
    let [[package, ..]] = results("ht-aware-scheduler-2002", "one-package")[..] else { panic!() };
    close(package, 1.1087);
}
