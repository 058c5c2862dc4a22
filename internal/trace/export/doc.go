// Package export writes recordings in formats of other tools: Perfetto's, Chrome's trace events, pprof's
// profiles of waiting, and lines of JSON.
package export
