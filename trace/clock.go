package trace

import "time"

// Clock converts between the ticks of event times and other clocks.
type Clock struct {
	kind        uint32
	frequency   uint64 // ticks a second as reported by the processor; 0: unknown
	start, late moment
	realtime    uint64 // nanoseconds of CLOCK_REALTIME at start
}

// moment is one moment by two clocks (struct recorder_moment).
type moment struct{ ticks, monotonic uint64 }

func parseMoment(b []byte) moment { return moment{le.Uint64(b), le.Uint64(b[8:])} }

// clockMonotonic is RECORDER_CLOCK_MONOTONIC: ticks are nanoseconds.
const clockMonotonic = 2

// nearMoments is the minimal time between two moments for a rate, in nanoseconds: below it, the error of
// reading them matters.
const nearMoments = 1_000_000

// Plausible rates of clocks, in nanoseconds a tick: from 1 MHz to 20 GHz.
const minRate, maxRate = 0.05, 1000

// learn adopts a moment of a ring if it is plausible and later than the known one.
func (c *Clock) learn(m moment) {
	if m.ticks <= c.late.ticks || m.monotonic <= c.late.monotonic {
		return
	}
	rate := float64(m.monotonic-c.start.monotonic) / float64(m.ticks-c.start.ticks)
	if rate < minRate || rate > maxRate {
		return
	}
	const tolerance = 0.02 // relative to the processor's own frequency
	known := rate * float64(c.frequency) / 1e9
	if c.frequency != 0 && m.monotonic-c.start.monotonic > nearMoments && (known < 1-tolerance || known > 1+tolerance) {
		return
	}
	c.late = m
}

// rate returns the nanoseconds per tick.
func (c *Clock) rate() float64 {
	switch {
	case c.kind == clockMonotonic:
		return 1
	case c.late.monotonic-c.start.monotonic > nearMoments, c.frequency == 0 && c.late.ticks > c.start.ticks:
		return float64(c.late.monotonic-c.start.monotonic) / float64(c.late.ticks-c.start.ticks)
	case c.frequency != 0:
		return 1e9 / float64(c.frequency)
	}
	return 1
}

// Monotonic converts ticks to CLOCK_MONOTONIC, in nanoseconds.
func (c *Clock) Monotonic(ticks uint64) int64 {
	if c.kind == clockMonotonic {
		return int64(ticks)
	}
	return int64(c.start.monotonic) + int64(float64(int64(ticks-c.start.ticks))*c.rate())
}

// Converter returns a fast Monotonic for many times.
func (c *Clock) Converter() func(ticks uint64) int64 {
	if c.kind == clockMonotonic {
		return func(ticks uint64) int64 { return int64(ticks) }
	}
	start, rate := c.start, c.rate()
	return func(ticks uint64) int64 {
		return int64(start.monotonic) + int64(float64(int64(ticks-start.ticks))*rate)
	}
}

// Start returns the start of the recorder, in ticks.
func (c *Clock) Start() uint64 { return c.start.ticks }

// Elapsed returns the time between two numbers of ticks; it is negative if to is earlier.
func (c *Clock) Elapsed(from, to uint64) time.Duration {
	return time.Duration(float64(int64(to-from)) * c.rate())
}

// TicksBefore returns ticks less the ticks of a duration, at least 0.
func (c *Clock) TicksBefore(ticks uint64, d time.Duration) uint64 {
	n := float64(d) / c.rate()
	if n >= float64(ticks) {
		return 0
	}
	return ticks - uint64(n)
}

// Ticks converts a time of CLOCK_MONOTONIC in nanoseconds to ticks.
func (c *Clock) Ticks(monotonic int64) uint64 {
	return c.start.ticks + uint64(int64(float64(monotonic-int64(c.start.monotonic))/c.rate()))
}

// Wall converts ticks to CLOCK_REALTIME, as set when the recorder started.
func (c *Clock) Wall(ticks uint64) time.Time {
	return time.Unix(0, int64(c.realtime)).Add(c.Elapsed(c.start.ticks, ticks))
}
