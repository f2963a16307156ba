//! Parameters: what is given is what is used, and what cannot be used is said plainly.

use corun_record::{Actionable, Exit};
use corun_workload::{Descriptor, Domain, Parameter, Parameters, Workload, all, find};
use proptest::prelude::*;

#[test]
fn what_is_not_given_has_its_default() {
    let parameters = Parameters::parse(descriptor("fib"), ["variant=register"]).unwrap();
    let values: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(values, ["variant=register", "call=inline", "granularity=128"]);
}

#[test]
fn numbers_are_recorded_in_full() {
    let ram = Parameters::parse(descriptor("ram"), ["touched=2M"]).unwrap();
    assert!(ram.iter().any(|pair| pair == ("touched", "2097152".into())));
    let regn = Parameters::parse(descriptor("regn"), ["max=1_0e3"]).unwrap();
    assert!(regn.iter().any(|pair| pair == ("max", "10000".into())));
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let mistakes: [(&str, &[&str]); 11] = [
        ("fib", &["granulraity=64"]),
        ("fib", &["zzz=1"]),
        ("fib", &["register"]),
        ("fib", &["variant=fast"]),
        ("fib", &["granularity=36"]),
        ("fib", &["granularity=16"]),
        ("fib", &["granularity=4KB"]),
        ("fib", &["call=call", "call=call"]),
        ("ram", &["touched="]),
        ("regn", &["max=0"]),
        ("regn", &["=1"]),
    ];
    let answers: Vec<String> = mistakes
        .iter()
        .map(|(workload, given)| {
            let error = Parameters::parse(descriptor(workload), *given).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage);
            format!("{error}\n    {}", error.next_step())
        })
        .collect();
    insta::assert_snapshot!(answers.join("\n"), @r"
    `fib` has no parameter `granulraity`; it has: granularity, variant, call
        Did you mean `granularity`?
    `fib` has no parameter `zzz`; it has: call, variant, granularity
        Use one of these names.
    expected a parameter of `fib` as name=value, found `register`
        Write the name, an equals sign and the value.
    parameter `variant` of `fib`: expected memory or register, found `fast`
        Give `variant` such a value, or leave it out to get the default.
    parameter `granularity` of `fib`: expected a size from 32 B to 1 GiB that is a multiple of 8 B, like 4096, 4K, 4KiB or 2xL1, found `36`
        Give `granularity` such a value, or leave it out to get the default.
    parameter `granularity` of `fib`: expected a size from 32 B to 1 GiB that is a multiple of 8 B, like 4096, 4K, 4KiB or 2xL1, found `16`
        Give `granularity` such a value, or leave it out to get the default.
    parameter `granularity` of `fib`: expected a size from 32 B to 1 GiB that is a multiple of 8 B, like 4096, 4K, 4KiB or 2xL1, found `4KB`
        Give `granularity` such a value, or leave it out to get the default.
    parameter `call` of `fib` is given more than once
        Keep the one that you mean.
    parameter `touched` of `ram`: expected a size from 4 KiB to 8 GiB that is a multiple of 4 B, like 4096, 4K, 4KiB or 2xL1, found ``
        Give `touched` such a value, or leave it out to get the default.
    parameter `max` of `regn`: expected a whole number of iterations from 1 to 4294967295, like 300000, 300_000 or 3e5, found `0`
        Give `max` such a value, or leave it out to get the default.
    `regn` has no parameter ``; it has: max
        Use one of these names.
    ");
}

proptest! {
    #[test]
    fn what_is_accepted_can_be_written_and_read_again((descriptor, pairs) in accepted()) {
        let parameters = Parameters::parse(descriptor, &pairs).unwrap();
        let written: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        prop_assert_eq!(written.len(), descriptor.parameters.len());
        prop_assert_eq!(Parameters::parse(descriptor, &written).unwrap(), parameters);
    }

    #[test]
    fn numbers_outside_their_domain_are_refused(number: u64) {
        let accepted = Parameters::parse(descriptor("fib"), [format!("granularity={number}")]).is_ok();
        let allowed = (32..=1 << 30).contains(&number) && number % 8 == 0;
        prop_assert_eq!(accepted, allowed);
    }

    #[test]
    fn no_text_panics(text: String, value: String, name in "granularity|variant|call|x|") {
        for workload in all() {
            let _ = Parameters::parse(workload.descriptor(), [&text, &format!("{name}={value}")]);
        }
        let _ = find(&text);
    }
}

fn descriptor(workload: &str) -> &'static Descriptor {
    find(workload).unwrap().descriptor()
}

/// A workload and a valid value for each of its parameters, in any order.
fn accepted() -> impl Strategy<Value = (&'static Descriptor, Vec<String>)> {
    let abouts: Vec<&'static Descriptor> = all().map(Workload::descriptor).collect();
    prop::sample::select(abouts).prop_flat_map(|descriptor| {
        let pairs: Vec<_> = descriptor.parameters.iter().map(pair).collect();
        (Just(descriptor), pairs.prop_shuffle())
    })
}

fn pair(parameter: &'static Parameter) -> BoxedStrategy<String> {
    let value = match parameter.domain {
        Domain::Choice(choices) => {
            prop::sample::select(choices).prop_map(|choice| choice.value.to_owned()).boxed()
        }
        Domain::File => "[a-z/]{1,9}".boxed(),
        Domain::Count { least, most, .. } => (least..=most).prop_map(|n| n.to_string()).boxed(),
        Domain::Size { least, most, multiple_of } => (least.div_ceil(multiple_of)
            ..=most / multiple_of)
            .prop_map(move |n| (n * multiple_of).to_string())
            .boxed(),
    };
    value.prop_map(|value| format!("{}={value}", parameter.name)).boxed()
}
