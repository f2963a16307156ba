//! Which private memory a process has, from the text of its `/proc/PID/maps` (proc_pid_maps(5)).

/// Addresses from `start` up to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    pub start: usize,
    pub end: usize,
}

impl Region {
    pub(super) fn holds(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// Private writable memory that belongs to no file: the heap, buffers and threads' stacks. What follows
/// a file's mapping directly is left out, since it may be the rest of that file's data.
pub(super) fn private_memory(maps: &str) -> impl Iterator<Item = Region> {
    let mut end_of_file_mapping = 0;
    maps.lines().filter_map(move |line| {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let region = Region { start: address(start)?, end: address(end)? };
        let permissions = fields.next()?;
        let name = fields.nth(3);
        let follows_a_file = region.start == end_of_file_mapping;
        if name.is_some_and(|name| name.starts_with('/')) || (name.is_none() && follows_a_file) {
            end_of_file_mapping = region.end;
            return None;
        }
        let is_known = matches!(name, None | Some("[heap]"));
        (is_known && permissions == "rw-p").then_some(region)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_their_data_shared_memory_and_the_stack_are_kept() {
        let maps = "\
            1000-2000 r-xp 00000000 fe:00 7 /usr/bin/corun\n\
            2000-3000 rw-p 00001000 fe:00 7 /usr/bin/corun\n\
            3000-4000 rw-p 00000000 00:00 0 \n\
            4000-5000 rw-p 00000000 00:00 0 \n\
            6000-7000 rw-p 00000000 00:00 0 [heap]\n\
            8000-9000 rw-p 00000000 00:00 0 \n\
            9000-a000 ---p 00000000 00:00 0 \n\
            a000-b000 rw-s 00000000 00:01 9 /memfd:corun-barrier (deleted)\n\
            c000-d000 rw-s 00000000 00:01 9 /dev/zero (deleted)\n\
            e000-f000 rw-p 00000000 00:00 0 [stack]\n\
            f000-10000 r-xp 00000000 00:00 0 [vdso]\n\
            nonsense\n";
        let found: Vec<Region> = private_memory(maps).collect();
        let expected = [(0x6000, 0x7000), (0x8000, 0x9000)];
        assert_eq!(found, expected.map(|(start, end)| Region { start, end }));
    }
}
