//! The server: answers every packet with as many bytes as it asks for.

use std::io::{self, Write};
use std::net::TcpStream;

use super::packet::receive;

/// Serves until the client closes the connection; `packet` has room for every packet and answer.
/// Allocates nothing, since it runs in a forked child.
pub(super) fn serve(stream: &TcpStream, packet: &mut [u8]) {
    while answer(stream, packet).is_ok() {}
}

/// Three system calls, even where TCP cuts the packet up.
fn answer(mut stream: &TcpStream, packet: &mut [u8]) -> io::Result<()> {
    receive(stream, &mut packet[..4])?;
    let following = number(packet, 0) as usize;
    let packet_bytes = packet.get_mut(4..4 + following).ok_or(io::ErrorKind::InvalidData)?;
    receive(stream, packet_bytes)?;
    let wanted = number(packet, 4);
    packet[..4].copy_from_slice(&wanted.to_be_bytes());
    let answer = packet.get(..4 + wanted as usize).ok_or(io::ErrorKind::InvalidData)?;
    stream.write_all(answer)
}

fn number(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}
