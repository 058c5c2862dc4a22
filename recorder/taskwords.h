/* taskwords.h: words of the runtime that must stay empty. LLVM's runtime (16 and later) has one word per thread for a
 * taskwait with dependences, and aborts the program if the word is not empty when the thread starts such a wait. A
 * tool's value gets there in two ways: the runtime copies the word of an implicit task when its region ends, and the
 * thread executes tasks in that barrier; or the wait executes tasks that wait in the same way. So the recorder empties
 * the word of an implicit task before it is copied, and never fills that of a wait. Their ids are in the ring's header,
 * and events with an empty word take them from there.
 */
#ifndef OMPD_RECORDER_TASKWORDS_H
#define OMPD_RECORDER_TASKWORDS_H

#include "recorder.h"
#include "tables.h"

/* word_slot returns the entry of recorder_ring.words for the thread's current task, or NULL. */
inlined uint64_t *word_slot(struct recorder_ring *ring) {
    uint32_t n = ring == NULL ? 0 : ring->tasks;
    return n - 1 < RECORDER_TASKS_MAX ? &ring->words[n - 1] : NULL; /* false for n = 0, too */
}

/* word_copied reports whether the runtime copies an implicit task's word after the beginning of such a barrier. The
 * runtime of LLVM 16 has one kind for all implicit barriers. */
inlined bool word_copied(ompt_sync_region_t kind) {
    return kind == ompt_sync_region_barrier_implicit || kind == ompt_sync_region_barrier_implicit_parallel ||
           kind == ompt_sync_region_barrier_teams;
}

/* word_empty empties the word of the thread's current task. */
inlined void word_empty(ompt_data_t *task) {
    if (rarely(recorder_chained | recorder_given) || task == NULL || task->value == 0) return;
    uint64_t *word = word_slot(recorder_mine);
    if (word != NULL) *word = (uint64_t)task;
    task->value = 0;
}

/* word_fill restores the id in the word of the current task, if the word was emptied. It ignores copies of the word,
 * and NULL: the draft of 2013 passes it for a task that has completed. */
inlined void word_fill(ompt_data_t *task) {
    struct recorder_ring *ring = recorder_mine;
    uint64_t *word = word_slot(ring);
    if (task == NULL || word == NULL || *word != (uint64_t)task || recorder_chained) return;
    task->value = ring->task_table[ring->tasks - 1].task;
}

/* word_current returns the id of a word that may be a copy of an emptied one: that of the innermost task with a known
 * word. The tasks above it are untied ones that the thread has left (task_unwind). */
inlined uint64_t word_current(struct recorder_ring *ring, const ompt_data_t *task) {
    uint64_t id = id_of(task);
    uint32_t n = ring->tasks;
    if (id != 0 || task == NULL || n > RECORDER_TASKS_MAX || recorder_chained) return id;
    while (n > 0 && ring->words[n - 1] == 0 && ring->task_table[n - 1].task != 0) n--;
    return n > 0 && ring->words[n - 1] != 0 ? ring->task_table[n - 1].task : 0;
}

/* word_wait returns the id of a word that may belong to the taskwait of the current task. */
inlined uint64_t word_wait(struct recorder_ring *ring, const ompt_data_t *wait) {
    uint64_t id = id_of(wait), *word;
    if (id != 0 || wait == NULL || (word = word_slot(ring)) == NULL) return id;
    return *word >> RECORDER_ID_SHIFT != 0 ? *word : 0; /* an address is no id */
}

#endif
