#!/usr/bin/env bash
# Adds up the numbers from 1 to its argument (300000 unless given) and prints the sum once:
# interpreter work of a fixed length, after the loop of an operating-systems lecture on
# hyper-threading. Try: corun measure -- examples/regn.sh
max=${1:-300000}
sum=0
for ((i = 1; i <= max; i++)); do
    ((sum += i))
done
echo "$sum"
