package server

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// worthReclaiming is how much memory must be held, in bytes, that it is worth the time to
// find out what of it is not used any more.
const worthReclaiming = 128 << 20

// reclaims is how often memory is given back after the last call: pools of buffers keep
// theirs through one collection.
const reclaims = 2

// giveBack gives memory back to the system now and then, after calls: Go keeps what it
// once had for minutes, and all of it if nothing happens. The function that it returns
// ends that.
func (s *Server) giveBack() (stop func()) {
	tick, over := time.NewTicker(s.cfg.Limits.Patience.Reclaim), make(chan struct{})
	go func() {
		for seen, left := int64(0), 0; ; {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			if now := s.ended.Load(); now != seen {
				seen, left = now, reclaims
			}
			if left > 0 && heldBytes() > worthReclaiming {
				debug.FreeOSMemory()
				left--
			}
		}
	}()
	return func() {
		tick.Stop()
		close(over)
	}
}

// heldBytes is how much memory this process has from the system, in bytes.
func heldBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}
