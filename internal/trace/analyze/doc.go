// Package analyze turns the events of a recording into spans, statistics and timelines, and finds orders of
// lock acquisitions that can end in a deadlock. It reads no memory.
package analyze
