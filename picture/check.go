package picture

// Check is one thing that the tool needs of a target, and whether it is there.
type Check struct {
	Name   string      `json:"name"`
	Status CheckStatus `json:"status"` // ok, partly, missing
	Detail string      `json:"detail"`
	Fix    string      `json:"fix,omitempty"` // the next command to type, or what to change
}
