//! temporary
use std::io;
pub struct MemoryPolicy(Vec<u64>);
impl MemoryPolicy { pub fn bind(n: &[u32]) -> Self { let mut b = vec![0u64; 16]; for c in n { b[*c as usize/64] |= 1 << (c%64); } Self(b) }
    pub fn apply_to_self(&self) -> io::Result<()> { if unsafe { libc::syscall(libc::SYS_set_mempolicy, 2, self.0.as_ptr(), 1025) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) } } }
