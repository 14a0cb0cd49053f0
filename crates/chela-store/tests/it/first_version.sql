PRAGMA journal_mode = WAL;
CREATE TABLE sessions (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    started INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    interacted INTEGER NOT NULL,
    ended INTEGER,
    ended_why TEXT,
    archived INTEGER,
    pinned INTEGER NOT NULL DEFAULT 0,
    parent TEXT,
    leaf INTEGER NOT NULL DEFAULT 0,
    redo TEXT,
    label TEXT,
    display_name TEXT,
    settings TEXT NOT NULL DEFAULT '{}',
    input INTEGER NOT NULL DEFAULT 0,
    output INTEGER NOT NULL DEFAULT 0,
    cache_read INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    context INTEGER NOT NULL DEFAULT 0,
    compactions INTEGER NOT NULL DEFAULT 0,
    flushed_at INTEGER,
    flushed_compaction INTEGER,
    entries INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX sessions_current ON sessions (key) WHERE ended IS NULL;
CREATE INDEX sessions_updated ON sessions (updated);
CREATE TABLE entries (
    key INTEGER PRIMARY KEY,
    parent INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE frozen (
    row INTEGER PRIMARY KEY,
    body TEXT NOT NULL
);
INSERT INTO sessions (id, key, started, updated, interacted, leaf, redo, input, entries, version)
    VALUES ('old-1', 'agent:main:main', 1, 2, 2, 5, '[6,4]', 12, 6, 9),
           ('old-2', 'agent:main:other', 1, 2, 2, 1, NULL, 0, 1, 1);
INSERT INTO entries VALUES
    (1 << 32 | 1, 0, 10, 'message', '{"message":{"role":"user","content":[]}}'),
    (1 << 32 | 2, 1, 11, 'message', '{"message":{"role":"assistant","content":[]}}'),
    (1 << 32 | 3, 2, 12, 'tool_started', '"call-1"'),
    (1 << 32 | 4, 3, 13, 'message', '{"message":{"role":"toolResult","content":[]},"meta":{"label":{"trust":"external","origin":"x"}}}'),
    (1 << 32 | 5, 1, 14, 'message', '{"message":{"role":"user","content":[]},"meta":{"details":{"runtime":[{"trust":"external"}]},"source":"cron"}}'),
    (1 << 32 | 6, 5, 15, 'message', '{"message":{"role":"toolResult","content":[]},"meta":{"label":"torn"}}'),
    (2 << 32 | 1, 0, 10, 'message', '{"message":{"role":"user","content":[{"type":"text","text":"\"trust\":\"external\""}]}}');
INSERT INTO frozen VALUES (1, '{}');
PRAGMA user_version = 1;
