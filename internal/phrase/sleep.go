package phrase

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// duration is a time in seconds as people write it: "12 ms", "999.8 s", "17 min", "2.5 h", "3 days".
func duration(seconds float64) string {
	const minute, hour, day = 60, 3600, 24 * 3600
	switch {
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	case seconds < 20*minute:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 2*hour:
		return fmt.Sprintf("%.0f min", seconds/minute)
	case seconds < 2*day:
		return fmt.Sprintf("%.1f h", seconds/hour)
	}
	return fmt.Sprintf("%.0f days", seconds/day)
}

// Sleeping is the call by which a thread sleeps, with the time that is left, or that it asked for, if one of
// them is known: "sleep, 999.8 s left".
func Sleeping(call string, s *picture.Sleep) string {
	switch {
	case s == nil:
	case s.Endless:
		return call + ", until a signal comes"
	case s.Left != nil:
		return call + ", " + duration(*s.Left) + " left"
	case s.Seconds != nil:
		return call + " for " + duration(*s.Seconds)
	}
	return call
}
