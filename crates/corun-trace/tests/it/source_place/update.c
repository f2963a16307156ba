int update(int value, int by, int rounds) {
    for (int round = 0; round < rounds; round++)
        value = value / by + 1000;
    return value;
}
