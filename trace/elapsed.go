package trace

import "time"

// Elapsed rounds a duration to the precision that matters to a reader: coarser the longer it is.
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
