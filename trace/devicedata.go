package trace

// Mapping is a variable that a target construct maps (the arguments of ompt_callback_target_map).
type Mapping struct {
	Host, Device uint64 // addresses
	Bytes        uint64
	Flags        uint32 // ompt_target_map_flag_t
}

// Mappings returns the mapped variables of a target_map; the event is Cut if there were more.
func (e *Event) Mappings() (out []Mapping) {
	if e.Code != TargetMap && e.Code != TargetMapEMI {
		return nil
	}
	for b := e.More; len(b) >= recordSize; b = b[recordSize:] {
		out = append(out, Mapping{
			Host: le.Uint64(b), Device: le.Uint64(b[16:]), Bytes: le.Uint64(b[24:]), Flags: le.Uint32(b[12:]),
		})
	}
	return out
}

// Transfer is an operation on the memory of a device (the arguments of ompt_callback_target_data_op).
type Transfer struct {
	Source, Destination             uint64 // addresses
	SourceDevice, DestinationDevice int32
	Bytes                           uint64
	ID, Target                      uint64 // ids of the operation and of its target region
}

// Transfer returns the arguments of a target_data_op; nil for other events, and if its records are missing.
func (e *Event) Transfer() *Transfer {
	if e.Code != TargetDataOp && e.Code != TargetDataOpEMI || len(e.More) < 2*recordSize {
		return nil
	}
	first, second := e.More, e.More[recordSize:]
	return &Transfer{
		Source: e.A, Destination: e.B, SourceDevice: int32(e.Value), DestinationDevice: int32(le.Uint32(first[12:])),
		Bytes: le.Uint64(first), ID: le.Uint64(first[24:]), Target: le.Uint64(second[16:]),
	}
}

// Load is code that was loaded on a device (the arguments of ompt_callback_device_load).
type Load struct {
	Host, Device  uint64 // addresses
	Offset        int64  // in the file
	Bytes, Module uint64
}

// Load returns the arguments of a device_load, without its file (Text); nil for other events.
func (e *Event) Load() *Load {
	if e.Code != DeviceLoad || len(e.More) < recordSize {
		return nil
	}
	return &Load{
		Host: e.A, Device: e.B, Offset: int64(le.Uint64(e.More[16:])), Bytes: le.Uint64(e.More),
		Module: le.Uint64(e.More[24:]),
	}
}
