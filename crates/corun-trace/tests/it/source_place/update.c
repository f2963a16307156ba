int update(int value, int by) {
    for (int round = 0; round < 1000; round++)
        value = value / by + 1000;
    return value;
}
