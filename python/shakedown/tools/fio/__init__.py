"""fio, the load generator. In reading order: locate, job, command, process, stream, document, interval, raw, load."""
