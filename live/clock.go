package live

import "golang.org/x/sys/unix"

// Clock reads a clock by its number for clock_gettime(2), in nanoseconds. ok is false if the
// process may see another time on it: in another time namespace, only the calendar clock is the
// same.
func (p *Process) Clock(number int) (nanoseconds int64, ok bool) {
	switch number {
	case unix.CLOCK_REALTIME, unix.CLOCK_TAI:
	case unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME:
		if !sameNamespace(p.pid, "time") {
			return 0, false
		}
	default: // a CPU-time clock, or a device's
		return 0, false
	}
	var now unix.Timespec
	if err := unix.ClockGettime(int32(number), &now); err != nil {
		return 0, false
	}
	return now.Nano(), true
}
