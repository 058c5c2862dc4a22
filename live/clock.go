package live

import "golang.org/x/sys/unix"

// Clock reads a clock by its number for clock_gettime(2), in nanoseconds, if the process sees the same time on
// it: in a time namespace of its own, only the clock of the calendar is the same.
func (p *Process) Clock(number int) (nanoseconds int64, ok bool) {
	switch number {
	case unix.CLOCK_REALTIME, unix.CLOCK_TAI:
	case unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME:
		if !sameNamespace(p.pid, "time") {
			return 0, false
		}
	default: // it counts processor time, or is a device's
		return 0, false
	}
	var now unix.Timespec
	if err := unix.ClockGettime(int32(number), &now); err != nil {
		return 0, false
	}
	return now.Nano(), true
}
