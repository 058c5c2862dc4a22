package watch

import (
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// records returns the number of records of each thread so far; nil without the recorder.
func records(total []picture.Use) map[int]int64 {
	var of map[int]int64
	for _, u := range total {
		if u.Records == 0 {
			continue
		}
		if of == nil {
			of = make(map[int]int64, len(total))
		}
		of[u.LWP] = u.Records
	}
	return of
}

// addRecorded adds the numbers of records between two looks.
func addRecorded(c *picture.Change, before, now map[int]int64) {
	if before == nil || now == nil {
		return
	}
	c.Recorded = &picture.RecordedChange{}
	for i := range c.Threads {
		t := &c.Threads[i]
		was, had := before[t.LWP]
		if is, has := now[t.LWP]; had && has && is > was {
			t.Records = is - was
			c.Recorded.Records += t.Records
		}
	}
	if c.Seconds > 0 {
		c.Recorded.PerSecond = float64(c.Recorded.Records) / c.Seconds
	}
}
