//! The vector and mask registers of a thread, out of its extended state.
//!
//! Where a component lies in the uncompacted form is the core's to say: Intel, Software Developer's
//! Manual, volume 1, section 13.4.3, and CPUID leaf 0DH.

use std::arch::x86_64::__cpuid_count;

use nix::unistd::Pid;

use super::kernel;

/// More than any core's state today, with the tiles of AMX.
const SPACE: usize = 16 * 1024;
/// Offset in the legacy area of its registers of 16 bytes.
const LOW_128: usize = 160;

/// State components of the vector registers.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
enum Component {
    /// The upper halves of the first sixteen registers of 32 bytes.
    High128 = 2,
    /// The mask registers.
    Masks = 5,
    /// The upper halves of the first sixteen registers of 64 bytes.
    High256 = 6,
    /// The other sixteen registers of 64 bytes.
    High16 = 7,
}

/// Values of the vector and mask registers of a thread.
#[derive(Debug)]
pub(super) struct Vectors {
    state: Vec<u8>,
}

impl Vectors {
    /// Those of a stopped thread.
    pub(super) fn of(tid: Pid) -> nix::Result<Self> {
        let mut state = vec![0; SPACE];
        let length = kernel::extended_state(tid, &mut state)?;
        state.truncate(length);
        Ok(Self { state })
    }

    /// A mask register.
    pub(super) fn mask(&self, number: usize) -> u64 {
        u64::from_le_bytes(self.component(Component::Masks, number))
    }

    /// An element of 4 or 8 bytes of a vector register, sign-extended.
    pub(super) fn element(&self, number: usize, element: usize, size: usize) -> i64 {
        let register = self.vector(number);
        let bytes = &register[element * size..][..size];
        match size {
            4 => i32::from_le_bytes(bytes.try_into().expect("4 bytes")).into(),
            _ => i64::from_le_bytes(bytes.try_into().expect("8 bytes")),
        }
    }

    fn vector(&self, number: usize) -> [u8; 64] {
        if number >= 16 {
            return self.component(Component::High16, number - 16);
        }
        let mut register = [0; 64];
        register[..16].copy_from_slice(&self.at::<16>(LOW_128 + 16 * number));
        register[16..32].copy_from_slice(&self.component::<16>(Component::High128, number));
        register[32..].copy_from_slice(&self.component::<32>(Component::High256, number));
        register
    }

    /// A register of `SIZE` bytes; zeros where the core has no such component.
    fn component<const SIZE: usize>(&self, component: Component, number: usize) -> [u8; SIZE] {
        let found = __cpuid_count(0xd, component as u32);
        if found.eax == 0 {
            return [0; SIZE];
        }
        self.at(found.ebx as usize + SIZE * number)
    }

    fn at<const SIZE: usize>(&self, offset: usize) -> [u8; SIZE] {
        let bytes = self.state.get(offset..offset + SIZE);
        bytes.map_or([0; SIZE], |bytes| bytes.try_into().expect("as many bytes"))
    }
}
