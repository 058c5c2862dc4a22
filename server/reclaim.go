package server

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// worthReclaiming is the heap size in bytes from which a collection for unused memory is worth its time.
const worthReclaiming = 128 << 20

// reclaims is the number of collections after the last call: pools of buffers survive the first.
const reclaims = 2

// giveBack returns memory to the system from time to time after calls: Go keeps it for minutes, or for ever if
// the program is idle. The returned function stops that.
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

// heldBytes returns this process's memory from the system, in bytes.
func heldBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}
