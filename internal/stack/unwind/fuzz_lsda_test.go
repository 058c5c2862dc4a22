package unwind

import "testing"

// FuzzCallSites parses bytes as the call-site table of a function that may throw.
func FuzzCallSites(f *testing.F) {
	const low = 0x1000
	f.Add([]byte{peOmit, peOmit, peULEB, 8, 0x10, 8, 0, 0, 0x20, 8, 0x60, 1, 0, 0, 0, 0}, uint64(0x24))
	f.Add([]byte{peSData4, 0, 0, 0, 0, peAbsolute, 0x80, 1, peUData4, 0xff, 0xff, 0x3f, 0, 0, 0, 0}, uint64(1))
	f.Add([]byte{peOmit, peOmit, peIndirect | peSData8, 0x40}, ^uint64(0))
	f.Fuzz(func(t *testing.T, table []byte, at uint64) {
		fn := &fde{cie: &cie{}, low: 0x4000, high: 0x4100, lsda: low}
		if h, _, err := callSite(bytesAt{low, table}, fn, fn.low+at); err != nil && h != HandlingUnknown {
			t.Fatalf("both %v and %v", h, err)
		}
	})
}
