#!/usr/bin/env python3
"""Threads of CPython, which hold its global interpreter lock while they compute: one is as quick as any number of them.

    corun threads python3 examples/interpreter-lock.py {workers}
"""

import sys
import threading


def count(numbers):
    total = 0
    for number in range(numbers):
        total += number & 7
    return total


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    numbers = int(sys.argv[2]) if len(sys.argv) > 2 else 4_000_000
    workers = [threading.Thread(target=count, args=(numbers // threads,)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


main()
