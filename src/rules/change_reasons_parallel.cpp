// Reasons of steps that lay out data, expert, context and pipeline parallelism, and of the runners of experts.
#include "src/rules/change_reasons.h"

namespace preflight::rules {
namespace {

bool is_text(const Value& v, std::string_view text) { return v.is_string() && v.as_string() == text; }

constexpr std::string_view kDp = "data_parallelism_defaults";
constexpr std::string_view kDpHandler = "handle_data_parallelism";
constexpr std::string_view kOldDp = "handle_deprecated_dp_attention";
constexpr std::string_view kA2a = "handle_a2a_moe";

constexpr std::string_view kGroupsMoved =
    "Beside --enable-dp-attention, --dp-size counts attention groups. Since 0.5.22 --attn-dp-size counts them, and "
    "--dp-size whole replicas.";
constexpr std::string_view kFillsWithWater = "Waterfill balances through the shared experts, which it fuses.";
constexpr std::string_view kDwdp =
    "--dwdp-size gives every rank attention of its own and a share of the experts, which it fetches from the others.";
constexpr std::string_view kDwdpAlone = "With --dwdp-size each rank works by itself outside the experts.";
constexpr std::string_view kSparseExperts = "--moe-a2a-backend spreads the experts over all ranks of --tp-size.";

constexpr ChangeReason kReasons[] = {
    {{kDp, kDpHandler}, Field::enable_dp_attention, "--dp-size is 1, so there are no groups to share attention among."},
    {{kDp, kDpHandler},
     Field::enable_dp_lm_head,
     "--dp-size is 1, so there are no attention groups to split the LM head by.",
     [](const FieldChange& c) { return c.launch.before(22); }},
    {{kDp},
     Field::enable_dp_lm_head,
     "--dp-size and --attn-dp-size are 1, so there are no attention groups to split the LM head by."},
    {{kOldDp}, Field::dp_size, kGroupsMoved},
    {{kOldDp}, Field::attn_dp_size, kGroupsMoved},
    {{kOldDp},
     Field::enable_dp_attention,
     "--dp-size is 1, so there are no groups to share attention among.",
     [](const FieldChange& c) { return c.launch.attention_dp() <= 1; }},
    {{kOldDp}, Field::enable_dp_attention, kGroupsMoved},
    {{kDpHandler},
     Field::chunked_prefill_size,
     "Attention data parallelism divides the prefill chunk among its groups."},
    {{kDpHandler},
     Field::schedule_conservativeness,
     "Attention data parallelism holds back less cache for running requests: three tenths of it."},
    {{kDpHandler},
     Field::enable_dp_attention_local_control_broadcast,
     "The Rust server needs control messages to stay within attention groups."},
    {{"tp_lm_head_all_to_all_default"},
     Field::enable_tp_lm_head_all_to_all,
     "On for a decode server whose attention is data parallel over all ranks, else off."},
    {{"dcp_comm_backend_default"},
     Field::dcp_comm_backend,
     "Since 0.5.22 a2a where --dcp-size is above 1; else ag_rs."},

    {{"pipeline_parallel_overlap_disable", "handle_pipeline_parallelism"},
     Field::disable_overlap_schedule,
     "Pipeline parallelism excludes the overlap schedule."},
    {{"boundary_parallelism"},
     Field::enable_attn_tp_input_scattered,
     "This model's attention never takes scattered rows."},
    {{"handle_legacy_cp_arguments"},
     Field::cp_strategy,
     "The older options of prefill context parallelism are carried over to their successors."},
    {{"handle_legacy_cp_arguments"},
     Field::enable_prefill_cp,
     "The older options of prefill context parallelism are carried over to their successors."},
    {{"handle_legacy_cp_arguments"},
     Field::enable_prefill_context_parallel,
     "Options of prefill context parallelism are carried over between their old and new names."},
    {{"handle_legacy_cp_arguments"},
     Field::enable_dsa_prefill_context_parallel,
     "Options of prefill context parallelism are carried over between their old and new names."},
    {{"handle_legacy_cp_arguments"},
     Field::prefill_cp_mode,
     "Options of prefill context parallelism are carried over between their old and new names."},
    {{"handle_legacy_cp_arguments"},
     Field::dsa_prefill_cp_mode,
     "Options of prefill context parallelism are carried over between their old and new names."},

    {{"resolve_cp_tp_group_sharing"},
     Field::enable_cp_tp_group_sharing,
     "With --enable-prefill-cp this model's prompts are shared out over the group of tensor parallelism."},
    {{"resolve_cp_tp_group_sharing"},
     Field::cuda_graph_config,
     "While the group of tensor parallelism shares prompts out, this model's prefill graphs are off."},

    {{"handle_dwdp"}, Field::attn_dp_size, kDwdp},
    {{"handle_dwdp"},
     Field::dp_size,
     "--dwdp-size counts the attention groups.",
     [](const FieldChange& c) { return c.launch.before(22); }},
    {{"handle_dwdp"}, Field::dp_size, "--dwdp-size counts attention groups, not replicas."},
    {{"handle_dwdp"}, Field::enable_dp_attention, kDwdp},
    {{"handle_dwdp"}, Field::enable_dp_attention_local_control_broadcast, kDwdpAlone},
    {{"handle_dwdp"}, Field::enable_dp_lm_head, kDwdpAlone},
    {{"handle_dwdp"}, Field::moe_dense_tp_size, kDwdpAlone},
    {{"handle_dwdp"}, Field::ep_size, "--dwdp-size shares the experts out to that many ranks."},
    {{"handle_dwdp"}, Field::moe_dp_size, kDwdp},
    {{"handle_dwdp"}, Field::moe_a2a_backend, "With --dwdp-size weights move between ranks, not tokens."},
    {{"handle_dwdp"}, Field::disable_cuda_graph, "--dwdp-size runs without graphs."},
    {{"handle_elastic_ep"},
     Field::enable_dp_attention_local_control_broadcast,
     "Ranks that join while the server runs need control messages to stay within attention groups."},
    {{"handle_layernorm_sp"},
     Field::cuda_graph_config,
     "Muse Spark prefills without a graph on the MegaMoE kernels, unless the breakable one was chosen."},

    {{"a2a_ep_size", kA2a}, Field::ep_size, kSparseExperts},
    {{"a2a_backend_overrides", kA2a},
     Field::moe_a2a_backend,
     "SGLANG_OPT_USE_DEEPGEMM_MEGA_MOE is set.",
     [](const FieldChange& c) { return is_text(c.now, "megamoe"); }},
    {{"a2a_backend_overrides", kA2a},
     Field::moe_a2a_backend,
     "--enable-deepep-waterfill (--enable-waterfill since 0.5.16) works with deepep.",
     [](const FieldChange& c) { return is_text(c.now, "deepep"); }},
    {{kA2a}, Field::moe_a2a_backend, "ascend_tp exchanges nothing."},
    {{"a2a_fusion_adjustments", kA2a},
     Field::disable_shared_experts_fusion,
     kFillsWithWater,
     [](const FieldChange& c) { return !c.now.truthy(); }},
    {{"a2a_fusion_adjustments", kA2a},
     Field::disable_shared_experts_fusion,
     "This --moe-a2a-backend keeps shared experts apart."},
    {{kA2a}, Field::enforce_shared_experts_fusion, kFillsWithWater},
    {{kA2a}, Field::deepep_mode, "This all-to-all backend or MoE runner dispatches in one mode only."},
    {{kA2a}, Field::disable_cuda_graph, "--deepep-mode normal cannot be captured in graphs."},
    {{kA2a}, Field::cuda_graph_config, "This all-to-all backend or its mode cannot be captured in graphs."},
    {{kA2a}, Field::moe_runner_backend, "This --moe-a2a-backend works with one MoE runner."},
    {{"handle_flashinfer_a2a_dispatch_type"},
     Field::flashinfer_a2a_dispatch_type,
     "auto follows the quantization of the experts."},

    {{"moe_runner_backend_quant_constraints", "handle_moe_kernel_config"},
     Field::moe_runner_backend,
     "SGLANG_CUTLASS_MOE is set.",
     [](const FieldChange& c) { return is_text(c.now, "cutlass"); }},
    {{"cutlass_moe_env_override"}, Field::moe_runner_backend, "SGLANG_CUTLASS_MOE is set."},
    {{"moe_runner_backend_quant_constraints", "handle_moe_kernel_config"},
     Field::moe_runner_backend,
     "mxfp8 weights run on few MoE runners: flashinfer_trtllm, flashinfer_trtllm_routed or cutlass, deep_gemm since "
     "0.5.16, flashinfer_megamoe since 0.5.19."},
    {{"moe_runner_fusion_disable", "handle_moe_kernel_config"},
     Field::disable_shared_experts_fusion,
     "This MoE runner keeps shared experts apart."},
    {{"handle_moe_runner_backend_alias"},
     Field::moe_runner_backend,
     "As a MoE runner megamoe stands for --moe-a2a-backend megamoe."},
    {{"handle_moe_runner_backend_alias"},
     Field::moe_a2a_backend,
     "As a MoE runner megamoe stands for --moe-a2a-backend megamoe."},

    {{"handle_eplb_and_dispatch"},
     Field::expert_distribution_recorder_mode,
     "--enable-eplb needs to know which experts are busy."},
    {{"handle_expert_distribution_metrics"},
     Field::expert_distribution_recorder_mode,
     "Reporting how busy experts are needs them recorded."},
    {{"handle_eplb_and_dispatch"},
     Field::ep_dispatch_algorithm,
     "Experts with replicas need a way to choose one: static, or dynamic without all-to-all since 0.5.17."},
    {{"handle_expert_distribution_metrics"},
     Field::expert_distribution_recorder_buffer_size,
     "As many steps as between two rebalancings, else 1000."},
    {{"handle_elastic_ep"}, Field::mooncake_ib_device, "The devices are read into their normal form."},
    {{"handle_elastic_ep"}, Field::eplb_algorithm, "Elastic expert parallelism takes elasticity_aware for auto."},
    {{"handle_elastic_ep"}, Field::elastic_ep_initial_size, "Experts start on all ranks of --tp-size."},
    {{"handle_symm_mem_device_support"},
     Field::enable_symm_mem,
     "NCCL's symmetric memory does not exist on an Intel GPU."},
    {{"handle_nccl_pre_warm"}, Field::pre_warm_nccl, "Warming NCCL up is for NVIDIA, AMD and Ascend devices."},
    {{kDerived},
     Field::attn_dp_size,
     "Up to 0.5.21 --enable-dp-attention makes --dp-size attention groups; without it there is one."},
    {{kDerived}, Field::fuseep_mode, "SGLANG_NPU_FUSED_MOE_MODE stands for it."},
    {{kDerived}, Field::enable_dp_attention, "Since 0.5.22 it reads whether --attn-dp-size is above 1."},
};

}  // namespace

std::span<const ChangeReason> parallel_reasons() { return kReasons; }

}  // namespace preflight::rules
