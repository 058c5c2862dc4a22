package text

import "strconv"

// goroutine is the number of a goroutine, empty if there is none.
func goroutine(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}
