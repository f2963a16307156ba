/* The DynamoRIO client: stores a block's number and its addresses as the block runs.
 *
 * The usual path has no call and no check: an entry is written through a register that points to it, and
 * the page after the buffer faults when the buffer is full. */
#include "address.h"
#include "block.h"
#include "computed.h"
#include "process.h"
#include "schedule.h"
#include "stream.h"

#include <signal.h>
#include <stddef.h>

#include "drmgr.h"
#include "drreg.h"

static reg_id_t segment;
static uint slots_offset;
static int stream_field;
static process_id_t traced_process;
static bool is_traced = true; /* false in a child that fork has copied */
static void *first_block;     /* where the program begins */
static uint32_t threads;      /* that are traced */

static struct stream *
stream_of(void *drcontext)
{
    return drmgr_get_tls_field(drcontext, stream_field);
}

/* --- Instrumentation ------------------------------------------------------------------------------ */

struct site {
    void *drcontext;
    instrlist_t *list;
    instr_t *where;       /* before which something is inserted */
    instr_t *instruction; /* for which */
    struct plan *plan;
};

static void
insert(const struct site *site, instr_t *instruction)
{
    instr_set_translation(instruction, instr_get_app_pc(site->instruction));
    instrlist_meta_preinsert(site->list, site->where, instruction);
}

static void
load_slot(const struct site *site, size_t slot, reg_id_t reg)
{
    dr_insert_read_raw_tls(site->drcontext, site->list, site->where, segment, slots_offset + slot, reg);
}

static void
store_slot(const struct site *site, size_t slot, reg_id_t reg)
{
    dr_insert_write_raw_tls(site->drcontext, site->list, site->where, segment, slots_offset + slot, reg);
}

static opnd_t
word_of_entry(const struct plan *plan, uint32_t word)
{
    return OPND_CREATE_MEM64(plan->entry, word * sizeof(uint64_t));
}

/* Reserves a register that is not among those to avoid, unless there is no other. */
static void
reserve(const struct site *site, const struct registers *avoided, reg_id_t *reg)
{
    drvector_t allowed;
    drreg_init_and_fill_vector(&allowed, true);
    for (reg_id_t other = DR_REG_START_64; other <= DR_REG_STOP_64; other++) {
        if (avoided->used[other - DR_REG_START_64])
            drreg_set_vector_entry(&allowed, other, false);
    }
    drreg_status_t status =
        drreg_reserve_register(site->drcontext, site->list, site->where, &allowed, reg);
    DR_ASSERT(status == DRREG_SUCCESS);
    drvector_delete(&allowed);
}

static void
begin_entry(const struct site *site)
{
    struct plan *plan = site->plan;
    reserve(site, &plan->avoided, &plan->entry);
    load_slot(site, offsetof(struct stream_slots, next), plan->entry);
    store_slot(site, offsetof(struct stream_slots, entry), plan->entry);
    insert(site, INSTR_CREATE_mov_st(site->drcontext, word_of_entry(plan, 0),
                                     OPND_CREATE_INT32(plan->number)));
}

static void
complete_entry(const struct site *site)
{
    struct plan *plan = site->plan;
    opnd_t next = opnd_create_base_disp(plan->entry, DR_REG_NULL, 0,
                                        plan->words * sizeof(uint64_t), OPSZ_lea);
    insert(site, INSTR_CREATE_lea(site->drcontext, opnd_create_reg(plan->entry), next));
    store_slot(site, offsetof(struct stream_slots, next), plan->entry);
    drreg_status_t status =
        drreg_unreserve_register(site->drcontext, site->list, site->where, plan->entry);
    DR_ASSERT(status == DRREG_SUCCESS);
}

static void
store_word(const struct site *site, uint32_t word, reg_id_t value)
{
    insert(site, INSTR_CREATE_mov_st(site->drcontext, word_of_entry(site->plan, word),
                                     opnd_create_reg(value)));
}

static reg_id_t
reserve_beside(const struct site *site, opnd_t operand)
{
    struct registers used = { 0 };
    reg_id_t reg;
    for (int i = 0; i < opnd_num_regs_used(operand); i++)
        add_register(&used, opnd_get_reg_used(operand, i));
    reserve(site, &used, &reg);
    return reg;
}

static void
unreserve(const struct site *site, reg_id_t reg)
{
    drreg_status_t status = drreg_unreserve_register(site->drcontext, site->list, site->where, reg);
    DR_ASSERT(status == DRREG_SUCCESS);
}

static void
store_register(const struct site *site, const struct record *record)
{
    if (record->base != site->plan->entry) {
        drreg_get_app_value(site->drcontext, site->list, site->where, record->base, record->base);
        store_word(site, record->word, record->base);
        return;
    }
    reg_id_t value = reserve_beside(site, record->operand);
    drreg_get_app_value(site->drcontext, site->list, site->where, record->base, value);
    store_word(site, record->word, value);
    unreserve(site, value);
}

static void
store_address(const struct site *site, const struct record *record)
{
    reg_id_t address = reserve_beside(site, record->operand), scratch = reserve_beside(site, record->operand);
    drreg_restore_app_values(site->drcontext, site->list, site->where, record->operand, NULL);
    bool is_stored = insert_address(site->drcontext, site->list, site->where, record->operand,
                                    address, scratch);
    DR_ASSERT(is_stored);
    if (opnd_uses_reg(record->operand, site->plan->entry))
        load_slot(site, offsetof(struct stream_slots, entry), site->plan->entry);
    store_word(site, record->word, address);
    unreserve(site, scratch);
    unreserve(site, address);
}

/* Called from instrumented code: works out an operand of the instruction at `pc`. */
static void
compute(app_pc pc, uint operand_index, uint word, uint words)
{
    void *drcontext = dr_get_current_drcontext();
    struct stream *stream = stream_of(drcontext);
    if (stream->slots->entry + words > stream->limit)
        stream_hand_over(stream, words);
    uint64_t *into = stream->slots->entry + word;

    dr_mcontext_t context = { .size = sizeof(context), .flags = DR_MC_ALL };
    dr_get_mcontext(drcontext, &context);
    instr_t instruction;
    instr_init(drcontext, &instruction);
    opnd_t operands[MAX_OPERANDS];
    if (decode(drcontext, pc, &instruction) == NULL ||
        memory_operands(&instruction, operands) <= (int)operand_index) {
        into[0] = 0;
    } else if (operand_form(&instruction) == FORM_LANES) {
        into[0] = lane_addresses(&instruction, operands[operand_index], &context, into + 1);
    } else if (operand_form(&instruction) == FORM_BIT) {
        into[0] = bit_address(&instruction, operands[operand_index], &context);
    } else {
        into[0] = iterations(&instruction, &context) << 1 | (context.xflags >> 10 & 1);
        into[1] = (uint64_t)opnd_compute_address(operands[operand_index], &context);
    }
    instr_free(drcontext, &instruction);
}

static void
store_computed(const struct site *site, const struct record *record, uint operand_index)
{
    dr_insert_clean_call_ex(site->drcontext, site->list, site->where, compute,
                            DR_CLEANCALL_READS_APP_CONTEXT, 4,
                            OPND_CREATE_INTPTR(instr_get_app_pc(site->instruction)),
                            OPND_CREATE_INT32(operand_index), OPND_CREATE_INT32(record->word),
                            OPND_CREATE_INT32(site->plan->words));
    load_slot(site, offsetof(struct stream_slots, entry), site->plan->entry);
}

static void
store_operands(const struct site *site)
{
    uint operand_index = 0;
    for (uint i = 0; i < site->plan->recorded; i++) {
        const struct record *record = &site->plan->records[i];
        if (record->instruction != site->instruction)
            continue;
        if (record->form != FORM_SINGLE)
            store_computed(site, record, operand_index++);
        else if (record->base != DR_REG_NULL)
            store_register(site, record);
        else
            store_address(site, record);
    }
}

/* Called from instrumented code before a block with an atomic instruction. */
static void
on_atomic(void)
{
    if (__atomic_load_n(&threads, __ATOMIC_RELAXED) > 1)
        stream_mark(stream_of(dr_get_current_drcontext()), CHANNEL_ATOMIC, 0);
}

static void
record(const struct site *site)
{
    struct plan *plan = site->plan;
    if (site->instruction == plan->first && plan->is_atomic)
        dr_insert_clean_call_ex(site->drcontext, site->list, site->where, on_atomic, 0, 0);
    if (site->instruction == plan->first)
        begin_entry(site);
    store_operands(site);
    if (site->instruction == plan->last)
        complete_entry(site);
}

/* Where a block with this number counts in a gap. */
static uint
counter_of(uint32_t number)
{
    return slots_offset + offsetof(struct stream_slots, left) + number % COUNTERS * sizeof(int64_t);
}

static uint
quota(void)
{
    return slots_offset + offsetof(struct stream_slots, quota);
}

static bool
is_counter(int64_t offset)
{
    for (uint32_t i = 0; i < COUNTERS; i++) {
        if (offset == counter_of(i))
            return true;
    }
    return offset == quota();
}

/* Whether an instruction is one of `count`, as it was made or as it is decoded. */
static bool
counts(instr_t *instruction)
{
    if (instr_get_opcode(instruction) != OP_sub || instr_num_dsts(instruction) != 1)
        return false;
    opnd_t to = instr_get_dst(instruction, 0);
    if (!opnd_is_far_memory_reference(to) || opnd_get_segment(to) != segment)
        return false;
    if (opnd_is_far_abs_addr(to))
        return is_counter((ptr_int_t)opnd_get_addr(to));
    return opnd_is_far_base_disp(to) && opnd_get_base(to) == DR_REG_NULL &&
        opnd_get_index(to) == DR_REG_NULL && is_counter(opnd_get_disp(to));
}

static void
count(const struct site *site, uint counter)
{
    opnd_t left = dr_raw_tls_opnd(site->drcontext, segment, counter);
    insert(site, INSTR_CREATE_sub(site->drcontext, left, OPND_CREATE_INT32(site->plan->instructions)));
}

/* Of a run that is only counted. */
static void
count_block(const struct site *site)
{
    drreg_reserve_aflags(site->drcontext, site->list, site->where);
    count(site, counter_of(site->plan->number));
    drreg_unreserve_aflags(site->drcontext, site->list, site->where);
}

/* `drreg` follows the code from its begin to its end, and knows nothing of branches between copies. */
static void
save_flags(const struct site *site)
{
    if (!site->plan->flags_are_live)
        return;
    if (site->plan->scratch_is_live)
        store_slot(site, offsetof(struct stream_slots, scratch), DR_REG_XAX);
    dr_save_arith_flags_to_reg(site->drcontext, site->list, site->where, DR_REG_XAX);
}

static void
restore_flags(const struct site *site)
{
    if (!site->plan->flags_are_live)
        return;
    dr_restore_arith_flags_from_reg(site->drcontext, site->list, site->where, DR_REG_XAX);
    if (site->plan->scratch_is_live)
        load_slot(site, offsetof(struct stream_slots, scratch), DR_REG_XAX);
}

/* The begin of a block with two copies. */
static void
choose_copy(const struct site *site)
{
    struct plan *plan = site->plan;
    bool flags_are_dead = false, scratch_is_dead = false;
    drreg_are_aflags_dead(site->drcontext, site->where, &flags_are_dead);
    drreg_is_register_dead(site->drcontext, DR_REG_XAX, site->where, &scratch_is_dead);
    plan->flags_are_live = !flags_are_dead;
    plan->scratch_is_live = !scratch_is_dead;
    save_flags(site);
    count(site, counter_of(plan->number));
    insert(site, INSTR_CREATE_jcc(site->drcontext, OP_js, opnd_create_instr(plan->copies.second)));
    restore_flags(site);
}

/* Called from instrumented code when a place of the thread's quota is used up. */
static void
on_quota(void)
{
    schedule_ask(stream_of(dr_get_current_drcontext()));
}

/* The begin of the copy that records. */
static void
ask(const struct site *site)
{
    void *drcontext = site->drcontext;
    instr_t *enough = INSTR_CREATE_label(drcontext);
    count(site, quota());
    insert(site, INSTR_CREATE_jcc(drcontext, OP_jns, opnd_create_instr(enough)));
    restore_flags(site);
    dr_insert_clean_call_ex(drcontext, site->list, site->where, on_quota, DR_CLEANCALL_MULTIPATH, 0);
    save_flags(site);
    insert(site, enough);
    restore_flags(site);
}

/* `where` is an instruction of one of the copies, or a label between them. */
static void
instrument_copies(void *drcontext, instrlist_t *list, instr_t *where, struct plan *plan)
{
    struct copies *copies = &plan->copies;
    struct site site = { drcontext, list, where, plan->first, plan };
    if (where == copies->begin)
        choose_copy(&site);
    if (where == copies->second) {
        site.where = instr_get_next(where);
        ask(&site);
    } else if (where == copies->end) {
        site.instruction = copies->last;
        if (copies->last != NULL)
            record(&site);
        drreg_restore_all(drcontext, list, where);
    } else if (instr_is_app(where) && where != copies->last) {
        site.instruction = where;
        record(&site); /* nothing is to be stored of the first copy's instructions */
    }
}

/* Called from the first block. */
static void
on_start(void)
{
    static bool has_started;
    dr_mcontext_t context = { .size = sizeof(context), .flags = DR_MC_CONTROL };
    if (has_started || !dr_get_mcontext(dr_get_current_drcontext(), &context))
        return;
    has_started = true;
    hide_environment((uint64_t *)context.xsp);
}

static dr_emit_flags_t
on_block(void *drcontext, void *tag, instrlist_t *list, bool for_trace, bool translating,
         void **user_data)
{
    if (first_block == NULL)
        first_block = tag;
    struct plan *plan = is_traced ? plan_create(drcontext, list) : NULL;
    if (plan != NULL && schedule_has_gaps())
        copies_make(drcontext, list, &plan->copies);
    *user_data = plan;
    return DR_EMIT_DEFAULT;
}

static dr_emit_flags_t
on_analysis(void *drcontext, void *tag, instrlist_t *list, bool for_trace, bool translating,
            void *user_data)
{
    return DR_EMIT_DEFAULT;
}

static void
instrument(void *drcontext, instrlist_t *list, instr_t *where, struct plan *plan)
{
    struct site site = { drcontext, list, where, where, plan };
    if (plan->copies.begin != NULL)
        instrument_copies(drcontext, list, where, plan);
    else if (instr_is_app(where) && schedule_is_whole())
        record(&site);
    else if (where == plan->first)
        count_block(&site);
}

static dr_emit_flags_t
on_instruction(void *drcontext, void *tag, instrlist_t *list, instr_t *where, bool for_trace,
               bool translating, void *user_data)
{
    struct plan *plan = user_data;
    if (plan == NULL)
        return DR_EMIT_DEFAULT;
    if (tag == first_block && where == instrlist_first(list))
        dr_insert_clean_call_ex(drcontext, list, where, on_start, DR_CLEANCALL_READS_APP_CONTEXT, 0);
    instrument(drcontext, list, where, plan);
    if (drmgr_is_last_instr(drcontext, where))
        plan_free(drcontext, plan);
    return DR_EMIT_DEFAULT;
}

/* --- What interrupts a block ---------------------------------------------------------------------- */

/* If the instruction would have stored into the guard page: the register that points to the entry. */
static reg_id_t
register_at_guard(void *drcontext, const struct stream *stream, dr_mcontext_t *raw)
{
    instr_t instruction;
    reg_id_t reg = DR_REG_NULL;
    instr_init(drcontext, &instruction);
    if (decode(drcontext, raw->pc, &instruction) != NULL &&
        instr_get_opcode(&instruction) == OP_mov_st) {
        opnd_t to = instr_get_dst(&instruction, 0);
        if (opnd_is_near_base_disp(to) && stream_is_guard(stream, opnd_compute_address(to, raw)))
            reg = opnd_get_base(to);
    }
    instr_free(drcontext, &instruction);
    return reg;
}

/* The thread leaves the block that it executes before the instruction at `pc`: its entry is cut short. */
static void
cut(struct stream *stream, app_pc pc)
{
    struct stream_slots *slots = stream->slots;
    uint64_t *entry = slots->entry;
    if (entry == NULL || entry < stream->start || entry >= stream->limit)
        return;
    const struct known_block *block = block_of(entry[0]);
    if (block == NULL || pc < block->start || pc >= block->start + block->bytes)
        return;
    slots->next = entry;
    if (pc != block->start) {
        if (entry + block->words + 1 > stream->limit) {
            stream_hand_over(stream, block->words);
            entry = slots->entry;
        }
        entry[0] |= CHANNEL_CUT;
        entry[block->words] = (uint64_t)pc;
        slots->next = entry + block->words + 1;
    }
    slots->entry = NULL;
}

/* How many instructions begin between two addresses. */
static int32_t
instructions_between(void *drcontext, app_pc from, app_pc to)
{
    int32_t count = 0;
    while (from != NULL && from < to) {
        from = decode_next_pc(drcontext, from);
        count++;
    }
    return count;
}

/* The thread leaves a block before the instruction at `pc`, whose code in the cache has come to `cached`: what
 * was counted of the block and is not executed is taken back. */
static void
uncount(void *drcontext, struct stream *stream, app_pc pc, instrlist_t *list, app_pc from, app_pc cached)
{
    app_pc block = NULL;
    int32_t counted = 0;
    for (instr_t *instruction = list == NULL ? NULL : instrlist_first(list);
         instruction != NULL && from < cached; instruction = instr_get_next(instruction)) {
        from += instr_length(drcontext, instruction);
        if (!instr_is_app(instruction) && counts(instruction)) {
            counted = opnd_get_immed_int(instr_get_src(instruction, 0));
            block = instr_get_app_pc(instruction);
        }
    }
    if (block == NULL || pc < block)
        return;
    int32_t executed = instructions_between(drcontext, block, pc);
    if (executed < counted)
        stream_uncount(stream, counted - executed);
}

static bool
on_restore_state(void *drcontext, bool restore_memory, dr_restore_state_info_t *info)
{
    struct stream *stream = stream_of(drcontext);
    if (restore_memory && stream != NULL && info->raw_mcontext_valid &&
        info->fragment_info.cache_start_pc != NULL &&
        register_at_guard(drcontext, stream, info->raw_mcontext) == DR_REG_NULL) {
        cut(stream, info->mcontext->pc);
        if (!schedule_is_whole())
            uncount(drcontext, stream, info->mcontext->pc, info->fragment_info.ilist,
                    info->fragment_info.cache_start_pc, info->raw_mcontext->pc);
    }
    return true;
}

static dr_signal_action_t
on_signal(void *drcontext, dr_siginfo_t *info)
{
    struct stream *stream = stream_of(drcontext);
    if (info->sig == SIGSEGV && info->raw_mcontext_valid &&
        stream_is_guard(stream, info->access_address)) {
        reg_id_t entry = register_at_guard(drcontext, stream, info->raw_mcontext);
        if (entry != DR_REG_NULL) {
            stream_hand_over(stream, CHANNEL_BUFFER);
            stream->slots->entry = stream->slots->next;
            reg_set_value(entry, info->raw_mcontext, (reg_t)stream->slots->next);
            return DR_SIGNAL_SUPPRESS;
        }
    }
    if (!info->blocked)
        stream_mark(stream, CHANNEL_SIGNAL, info->sig);
    return DR_SIGNAL_DELIVER;
}

/* --- The life of processes and threads ------------------------------------------------------------ */

static bool
on_system_call(void *drcontext, int number)
{
    struct stream *stream = stream_of(drcontext);
    stream_mark(stream, CHANNEL_SYSTEM_CALL, number);
    stream->makes_process = makes_process(drcontext, number);
    if (replaces_program(number)) {
        stream_hand_over(stream, 0);
        if (!stream->discarded)
            channel_send(CHANNEL_EXEC, stream->thread, 0, 0);
    }
    return true;
}

static void
after_system_call(void *drcontext, int number)
{
    struct stream *stream = stream_of(drcontext);
    int64_t result = dr_syscall_get_result(drcontext);
    if (stream->makes_process && result > 0)
        stream_mark(stream, CHANNEL_FORKED, result);
    stream->makes_process = false;
}

static bool
every_system_call(void *drcontext, int number)
{
    return true;
}

static void
on_thread(void *drcontext)
{
    struct stream *stream = dr_thread_alloc(drcontext, sizeof(*stream));
    byte *base = dr_get_dr_segment_base(segment);
    drmgr_set_tls_field(drcontext, stream_field, stream);
    bool is_foreign = !is_traced || dr_get_process_id_from_drcontext(drcontext) != traced_process;
    stream_begin(stream, (struct stream_slots *)(base + slots_offset), dr_get_thread_id(drcontext),
                 is_foreign);
    if (!is_foreign)
        __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    if (schedule_has_gaps())
        stream_divert(stream);
}

static void
on_thread_end(void *drcontext)
{
    struct stream *stream = stream_of(drcontext);
    /* In a child that has just been forked this is called for its parent's other threads, whose buffers it shares. */
    if (!stream->discarded && dr_get_process_id() != traced_process)
        return;
    stream_return(stream);
    if (!schedule_is_whole())
        schedule_report(stream);
    stream_mark(stream, CHANNEL_ENDED, 0);
    if (!stream->discarded)
        __atomic_fetch_sub(&threads, 1, __ATOMIC_RELAXED);
    stream_end(stream);
    drmgr_set_tls_field(drcontext, stream_field, NULL);
    dr_thread_free(drcontext, stream, sizeof(*stream));
}

/* In the child, which is not traced: it must not write into the buffers that it shares. */
static void
on_fork(void *drcontext)
{
    struct stream *stream = stream_of(drcontext);
    is_traced = false;
    stream_begin(stream, stream->slots, 0, true);
    dr_delay_flush_region(NULL, ~(size_t)0, 0, NULL);
}

DR_EXPORT void
dr_client_main(client_id_t id, int argc, const char *argv[])
{
    drreg_options_t registers = { .struct_size = sizeof(registers), .num_spill_slots = 4 };
    dr_set_client_name("corun", "");
    traced_process = dr_get_process_id();
    if (argc < 2 || !channel_open(argv[1]) || !drmgr_init() ||
        drreg_init(&registers) != DRREG_SUCCESS ||
        !dr_raw_tls_calloc(&segment, &slots_offset, sizeof(struct stream_slots) / sizeof(void *), 0)) {
        dr_fprintf(STDERR, "corun: the tracing client cannot start\n");
        dr_abort_with_code(1);
    }
    schedule_begin();
    blocks_begin();
    stream_field = drmgr_register_tls_field();
    drmgr_register_bb_instrumentation_ex_event(on_block, on_analysis, on_instruction, NULL, NULL);
    drmgr_register_restore_state_ex_event(on_restore_state);
    drmgr_register_signal_event(on_signal);
    dr_register_filter_syscall_event(every_system_call);
    drmgr_register_pre_syscall_event(on_system_call);
    drmgr_register_post_syscall_event(after_system_call);
    drmgr_register_thread_init_event(on_thread);
    drmgr_register_thread_exit_event(on_thread_end);
    dr_register_fork_init_event(on_fork);
}
