int update(int value, int by, int rounds);

int main(int count, char **words) {
    return update(1000000000, 2, count > 1 ? 3000000 : 1000) == 0;
}
