-- Version 2: a sweep of predictions is kept cell by cell.

-- Predicted cells of a sweep without an answer, in the order in which they were finished, as compressed JSON.
CREATE TABLE cells (
    run       INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    cell      INTEGER NOT NULL,
    elapsed_s REAL NOT NULL,
    json      BLOB NOT NULL,
    PRIMARY KEY (run, cell)
) STRICT;
