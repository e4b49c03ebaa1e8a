"""Cases that are not here yet, and what they wait for: an area, a case, or a run of a case ("area/NN-name:run")."""

DEFERRED = {
    "avro/04-timestamp-without-zone": "the connector jdbc",
    "hdfs": "the system and connector hdfs",
    "jdbc": "the connector jdbc",
    "kafka/05-registry-frame": "the schema registry",
    "messaging": "the messaging store",
    "streams/01-tumbling-with-late-data": "windows that wait for late records and fire again",
    "streams/02-sessions-that-merge": "session windows",
    "streams/03-joins:pairs": "joins of two streams",
    "streams/04-broadcast-to-every-key": "broadcast state",
    "streams/05-watermark-combining": "watermarks that functions declare",
    "streams/06-key-groups": "state of another number of tasks, and of another number of key groups, as a user sees it",
    "tables": "updates of tables, remote tables",
    "config/09-two-reloads-in-a-row": "reload",
    "config/10-dead-letters-survive:3": "reload",
    "config/10-dead-letters-survive:6": "reload",
    "config/10-dead-letters-survive:8": "replay of dead letters",
    "config/10-dead-letters-survive:9": "a limit of dead letters",
    "json/03-duplicate-keys:rest": "the REST API",
}
