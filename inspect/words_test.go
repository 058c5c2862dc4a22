package inspect

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// TestWords holds the words of a picture against those of runtime readers.
func TestWords(t *testing.T) {
	for got, want := range map[picture.Role]picture.Role{
		roleOf(rtl.RoleInitial): picture.RoleInitial, roleOf(rtl.RolePrimary): picture.RolePrimary,
		roleOf(rtl.RoleWorker): picture.RoleWorker, roleOf(rtl.RoleIdle): picture.RoleIdle,
		roleOf(rtl.RoleNone): picture.RoleNone,
	} {
		if got != want {
			t.Errorf("role %s, want %s", got, want)
		}
	}
	for got, want := range map[picture.StateName]picture.StateName{
		stateName(rtl.StateIdle):                         picture.StateIdle,
		stateName(rtl.StateWaitBarrierImplicitParallel):  picture.StateBarrierParallel,
		stateName(rtl.StateWaitBarrierImplicitWorkshare): picture.StateBarrierWorkshare,
		stateName(rtl.StateWaitBarrierExplicit):          picture.StateBarrierExplicit,
		stateName(rtl.StateWorkSerial):                   picture.StateWorkSerial,
		stateName(rtl.StateWorkParallel):                 picture.StateWorkParallel,
	} {
		if got != want {
			t.Errorf("state %s, want %s", got, want)
		}
	}
	for _, s := range rtl.States() {
		if got := stateName(s).Waits(); got != s.Waiting() {
			t.Errorf("state %v waits: %v, want %v", s, got, s.Waiting())
		}
	}
	for got, want := range map[picture.TaskKind]picture.TaskKind{
		taskKind(rtl.TaskInitial): picture.TaskInitial, taskKind(rtl.TaskImplicit): picture.TaskImplicit,
		taskKind(rtl.TaskExplicit): picture.TaskExplicit, taskKind(rtl.TaskTarget): picture.TaskTarget,
	} {
		if got != want {
			t.Errorf("kind of task %s, want %s", got, want)
		}
	}
	for got, want := range map[picture.TaskState]picture.TaskState{
		taskState(rtl.TaskRunning): picture.TaskRunning, taskState(rtl.TaskWaiting): picture.TaskWaiting,
		taskState(rtl.TaskQueued): picture.TaskQueued, taskState(rtl.TaskBlocked): picture.TaskBlocked,
		taskState(rtl.TaskCreated): picture.TaskCreated, taskState(rtl.TaskCompleted): picture.TaskCompleted,
	} {
		if got != want {
			t.Errorf("state of a task %s, want %s", got, want)
		}
	}
	for got, want := range map[picture.WaitKind]picture.WaitKind{
		waitKind(rtl.FamilyLock): picture.WaitLock, waitKind(rtl.FamilyNest): picture.WaitNestLock,
		waitKind(rtl.FamilyCritical): picture.WaitCritical, waitKind(rtl.FamilyMutex): picture.WaitMutex,
		waitKind(rtl.FamilyAtomic): picture.WaitAtomic, waitKind(rtl.FamilyCondition): picture.WaitCondition,
	} {
		if got != want {
			t.Errorf("kind of a wait %s, want %s", got, want)
		}
	}
}
