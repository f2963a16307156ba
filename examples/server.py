#!/usr/bin/env python3
"""A server with one thread, and a load with one connection that sends its next request when the last is answered.

    corun measure --ready 7000 --serve 'python3 examples/server.py 7000' \\
        --load 'python3 examples/server.py --load 7000' \\
        --throughput '([0-9.]+) requests/s' --latency 'p50=p50 ([0-9.]+) ms'

With one request at a time the throughput is one over the mean latency (Little 1961, "A proof for the queuing formula
L = λW"), and no further CPU makes it more.
"""

import socket
import statistics
import sys
import time

LINE = b"x" * 63 + b"\n"
WORK = 20_000


def serve(port):
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                while connection.recv(len(LINE)):
                    total = 0
                    for number in range(WORK):
                        total += number & 7
                    connection.sendall(LINE)


def load(port, requests):
    times = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.perf_counter()
        for _ in range(requests):
            begin = time.perf_counter()
            connection.sendall(LINE)
            connection.recv(len(LINE))
            times.append(time.perf_counter() - begin)
        elapsed = time.perf_counter() - start
    print(f"{requests / elapsed:.3f} requests/s, p50 {statistics.median(times) * 1e3:.6f} ms")


def main():
    if sys.argv[1] == "--load":
        load(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 500)
    else:
        serve(int(sys.argv[1]))


main()
