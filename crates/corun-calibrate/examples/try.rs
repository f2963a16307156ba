use corun_calibrate::*;
fn main() {
    let model = corun_sim::model::find("zen3").unwrap();
    let base = corun_sim::timing::TimingTable::of(&model).unwrap();
    let mut native = Native::new(1, 9).unwrap();
    let c = calibrate(&mut native, &model, &base, &Default::default(), |p| eprintln!("{p} {:?}", std::time::SystemTime::now())).unwrap();
    for f in &c.figures { println!("{:40} {:9.3} ({:.3}-{:.3}) {}", f.name, f.measured.median, f.measured.p10, f.measured.p90, f.unit); }
    println!("{:?}", native.disturbed());
    let m = measured_model(&model, &c.figures, "x", "y").unwrap();
    for c in m.changes { println!("{:40} {} base {} pub {:?}", c.field, c.value, c.base, c.published); }
}
