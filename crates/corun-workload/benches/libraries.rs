//! The workloads that are a library's job against the libraries that the field uses for it:
//! `cargo bench -p corun-workload --bench libraries`.
//!
//! Both sides take turns on one thread of one process. The lower end of the interval of each ratio
//! of rates must reach its limit; a peer that is not installed is said, and does not fail.

mod common;
#[path = "../src/generated/mod.rs"]
#[allow(dead_code, unused_imports, reason = "only the text of `compress` is needed")]
mod generated;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::process::{Command, ExitCode};
use std::ptr::null;

use common::{Ratio, kernel, mean, paired, seconds};
use generated::prose;
use libloading::Library;
use zstd::zstd_safe;

const ROUNDS: usize = 101;

/// The tool measures for a second each time.
const TOOL_ROUNDS: usize = 5;

/// Of OpenBLAS's rate.
const MIN_MATMUL: f64 = 0.90;
/// Of the rate of the libraries' own tools.
const MIN_BYTES: f64 = 0.95;

fn main() -> ExitCode {
    type Comparison = fn() -> Result<Compared, String>;
    let comparisons: [(&str, Comparison); 6] = [
        ("matmul, size=512", || matmul(512)),
        ("matmul, size=1024", || matmul(1024)),
        ("hash", hash),
        ("compress", compress),
        ("compress", compress_with_the_systems_library),
        ("compress", compress_with_the_tool),
    ];
    let mut reached = true;
    for (name, compare) in comparisons {
        match compare() {
            Ok(compared) => reached &= compared.is_shown_to_reach_its_limit(name),
            Err(reason) => println!("{name}: not compared: {reason}"),
        }
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Result of one comparison.
struct Compared {
    peer: String,
    /// Seconds of each of corun's turns and of the peer's, which did the same number of operations.
    times: (Vec<f64>, Vec<f64>),
    operations: u64,
    unit: &'static str,
    least: Option<f64>,
}

impl Compared {
    fn is_shown_to_reach_its_limit(&self, name: &str) -> bool {
        let (ours, theirs) = &self.times;
        let ratio = Ratio::of(theirs, ours);
        let [ours, theirs] = [ours, theirs].map(|times| self.operations as f64 / mean(times) / 1e9);
        let (peer, unit) = (&self.peer, self.unit);
        print!("{name}: corun {ours:.3}, {peer} {theirs:.3} {unit}; ratio {ratio}");
        match self.least {
            Some(least) if ratio.low < least => println!(", BELOW {least}"),
            Some(least) => println!(", at least {least}"),
            None => println!(),
        }
        self.least.is_none_or(|least| ratio.low >= least)
    }
}

fn matmul(size: usize) -> Result<Compared, String> {
    #[rustfmt::skip]
    type Dgemm = unsafe extern "C" fn(
        c_int, c_int, c_int, c_int, c_int, c_int,
        f64, *const f64, c_int, *const f64, c_int, f64, *mut f64, c_int,
    );
    const ROW_MAJOR: c_int = 101;
    const NOT_TRANSPOSED: c_int = 111;

    let library = load("libopenblas.so.0", "libopenblas0-pthread")?;
    // SAFETY: these are the declarations of OpenBLAS's cblas.h.
    let (set_threads, core_name, dgemm) = unsafe {
        (
            function::<unsafe extern "C" fn(c_int)>(library, c"openblas_set_num_threads")?,
            function::<unsafe extern "C" fn() -> *const c_char>(library, c"openblas_get_corename")?,
            function::<Dgemm>(library, c"cblas_dgemm")?,
        )
    };
    // SAFETY: a number of threads; the name is a constant of the library.
    let core = unsafe {
        set_threads(1);
        CStr::from_ptr(core_name())
    };
    let n = size as c_int;
    let mut kernel = kernel("matmul", &[format!("size={size}")]);
    let matrices = kernel.memory().as_mut_ptr().cast::<f64>();
    let operations = 2 * (size as u64).pow(3);
    #[rustfmt::skip]
    let add_product = || {
        // SAFETY: three matrices of n rows of n numbers, one after the other, as the kernel has them.
        unsafe {
            let (a, b, c) = (matrices, matrices.add(size * size), matrices.add(2 * size * size));
            dgemm(
                ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, n, n, n,
                1.0, a, n, b, n, 1.0, c, n,
            );
        }
    };
    let times = paired(ROUNDS, || seconds(|| kernel.run(operations)), || seconds(add_product));
    let peer = format!("OpenBLAS ({})", core.to_string_lossy());
    Ok(Compared { peer, times, operations, unit: "GFLOP/s", least: Some(MIN_MATMUL) })
}

fn hash() -> Result<Compared, String> {
    type Context = *mut c_void;
    type Method = *const c_void;
    type New = unsafe extern "C" fn() -> Context;
    type Sha256 = unsafe extern "C" fn() -> Method;
    type Init = unsafe extern "C" fn(Context, Method, *const c_void) -> c_int;
    type Update = unsafe extern "C" fn(Context, *const u8, usize) -> c_int;
    type Final = unsafe extern "C" fn(Context, *mut u8, *const c_void) -> c_int;
    const MESSAGE: usize = 16 << 10;
    const MESSAGES: usize = 200;

    let library = load("libcrypto.so.3", "libssl3")?;
    // SAFETY: these are the declarations of OpenSSL's evp.h.
    let (new, sha256, init, update, finish) = unsafe {
        (
            function::<New>(library, c"EVP_MD_CTX_new")?,
            function::<Sha256>(library, c"EVP_sha256")?,
            function::<Init>(library, c"EVP_DigestInit_ex")?,
            function::<Update>(library, c"EVP_DigestUpdate")?,
            function::<Final>(library, c"EVP_DigestFinal_ex")?,
        )
    };
    // SAFETY: the context is new, and lives as long as the process.
    let context = unsafe {
        let context = new();
        init(context, sha256(), null());
        context
    };
    let mut message = vec![0; MESSAGE];
    let mut kernel = kernel("hash", &[format!("message={MESSAGE}")]);
    let operations = (MESSAGES * MESSAGE) as u64;
    let times = paired(
        ROUNDS,
        || seconds(|| kernel.run(operations)),
        || {
            seconds(|| {
                for _ in 0..MESSAGES {
                    // SAFETY: the message is as long as said, and has room for a digest; the
                    // context keeps its method.
                    unsafe {
                        init(context, null(), null());
                        update(context, message.as_ptr(), message.len());
                        finish(context, message.as_mut_ptr(), null());
                    }
                }
            })
        },
    );
    let peer = "OpenSSL's libcrypto".to_owned();
    Ok(Compared { peer, times, operations, unit: "GB/s", least: Some(MIN_BYTES) })
}

const LEVEL: c_int = 3;
const TEXT: usize = 4 << 20;
const BLOCK: usize = 128 << 10;

/// The library that is linked in, by its own interface.
fn compress() -> Result<Compared, String> {
    let mut context = zstd_safe::CCtx::create();
    let peer = format!("the same library {}", zstd_safe::version_string());
    Ok(compress_as(peer, |block, frame| {
        context.compress(frame, block, LEVEL).expect("the frame has room enough");
    }))
}

fn compress_with_the_systems_library() -> Result<Compared, String> {
    type Version = unsafe extern "C" fn() -> *const c_char;
    type Create = unsafe extern "C" fn() -> *mut c_void;
    type Compress =
        unsafe extern "C" fn(*mut c_void, *mut u8, usize, *const u8, usize, c_int) -> usize;

    let library = load("libzstd.so.1", "libzstd1")?;
    // SAFETY: these are the declarations of zstd.h.
    let (version, create, compress) = unsafe {
        (
            function::<Version>(library, c"ZSTD_versionString")?,
            function::<Create>(library, c"ZSTD_createCCtx")?,
            function::<Compress>(library, c"ZSTD_compressCCtx")?,
        )
    };
    // SAFETY: a constant of the library, and a context that lives as long as the process.
    let (version, context) = unsafe { (CStr::from_ptr(version()), create()) };
    let peer = format!("the system's library {}", version.to_string_lossy());
    Ok(compress_as(peer, |block, frame| {
        let (from, to) = (block.as_ptr(), frame.as_mut_ptr());
        // SAFETY: both are as long as said.
        unsafe { compress(context, to, frame.len(), from, block.len(), LEVEL) };
    }))
}

/// Compares with a compressor that makes a frame of each block.
fn compress_as(peer: String, mut compress: impl FnMut(&[u8], &mut [u8])) -> Compared {
    let text = prose(TEXT);
    let mut frame = vec![0; zstd_safe::compress_bound(BLOCK)];
    let mut kernel = kernel("compress", &[]);
    let times = paired(
        ROUNDS,
        || seconds(|| kernel.run(TEXT as u64)),
        || seconds(|| text.chunks(BLOCK).for_each(|block| compress(block, &mut frame))),
    );
    let operations = TEXT as u64;
    Compared { peer, times, operations, unit: "GB/s", least: Some(MIN_BYTES) }
}

/// The tool takes its own time by the wall clock, so that this is no limit on a busy machine.
fn compress_with_the_tool() -> Result<Compared, String> {
    let mut file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    file.write_all(&prose(TEXT)).map_err(|error| error.to_string())?;
    let seconds_of_the_tool = || {
        let output = Command::new("zstd")
            .args([&format!("-b{LEVEL}"), "-i1", &format!("-B{BLOCK}")])
            .arg(file.path())
            .output()
            .map_err(|error| format!("`zstd` cannot be started: {error}"))?;
        let reported = String::from_utf8_lossy(&output.stdout).replace('\r', "\n");
        let rate = reported.lines().rev().find_map(|line| {
            line.split_once(" MB/s")?.0.rsplit([' ', ',']).next()?.parse::<f64>().ok()
        });
        let rate = rate.ok_or(format!("`zstd -b` said `{reported}`"))?;
        Ok::<f64, String>(TEXT as f64 / rate / 1e6)
    };
    seconds_of_the_tool()?;
    let mut kernel = kernel("compress", &[]);
    let times = paired(
        TOOL_ROUNDS,
        || seconds(|| (0..50).for_each(|_| kernel.run(TEXT as u64))) / 50.0,
        || seconds_of_the_tool().unwrap_or(f64::NAN),
    );
    let operations = TEXT as u64;
    Ok(Compared { peer: "zstd -b".into(), times, operations, unit: "GB/s", least: None })
}

/// A library of the system, for as long as the process lives.
fn load(name: &str, package: &str) -> Result<&'static Library, String> {
    // SAFETY: these libraries may be initialised at any time.
    let library = unsafe { Library::new(name) };
    let hint = |error| format!("{error} (Debian: apt-get install {package})");
    Ok(Box::leak(Box::new(library.map_err(hint)?)))
}

/// # Safety
/// `Function` is the type of the function called `name`.
unsafe fn function<Function: Copy>(
    library: &'static Library,
    name: &CStr,
) -> Result<Function, String> {
    // SAFETY: the caller says so.
    let symbol = unsafe { library.get::<Function>(name.to_bytes_with_nul()) };
    symbol.map(|symbol| *symbol).map_err(|error| error.to_string())
}
