package trace

import "time"

// Elapsed leaves of a duration what people read of it: no more than it matters how long ago
// something was.
func Elapsed(d time.Duration) time.Duration {
	switch d = max(d, 0); {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}
