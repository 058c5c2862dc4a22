package cli

import "testing"

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64 // -1 for an error
		back string
	}{
		{"512MB", 512 << 20, "512MB"}, {"2GB", 2 << 30, "2GB"}, {"1g", 1 << 30, "1GB"}, {"64 MiB", 64 << 20, "64MB"},
		{"100", 100, "100"}, {"3K", 3 << 10, "3072"}, {"0", 0, "0"},
		{"", -1, ""}, {"-1", -1, ""}, {"1.5GB", -1, ""}, {"9999999999GB", -1, ""}, {"MB", -1, ""}, {"12TB", -1, ""},
	} {
		var v sizeValue
		err := v.Set(tt.text)
		if (err != nil) != (tt.want < 0) || err == nil && (int64(v) != tt.want || v.String() != tt.back) {
			t.Errorf("%q: %d, %s, %v", tt.text, v, v.String(), err)
		}
	}
	if zero := sizeValue(0); zero.limit() != -1 || sizeValue(5).limit() != 5 {
		t.Error("0 is not any")
	}
}
