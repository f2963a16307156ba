int update(int value, int by);

int main(int count, char **words) {
    return update(1000000000, count + 1) == 0;
}
