// PL: devices, static memory and tensor-parallel divisibility. All of these stop a worker while it starts.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "src/base/counted.h"
#include "src/facts/device_profiles.h"
#include "src/facts/has_class.h"
#include "src/facts/host_memory.h"
#include "src/facts/kinds.h"
#include "src/facts/repeated_heads.h"
#include "src/launch/ranks.h"
#include "src/plan/activations.h"
#include "src/plan/kept_layers.h"
#include "src/plan/memory_sheet.h"
#include "src/plan/stored_weights.h"
#include "src/plan/weights.h"
#include "src/python/integer.h"
#include "src/python/text.h"
#include "src/rules/attention_ranks.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/pool_limits.h"
#include "src/rules/remedy_words.h"
#include "src/rules/serving_class.h"
#include "src/rules/sheet_of.h"

namespace preflight::rules {
namespace {

// Values of --tp-size that make attention's width one of those that fit, the nearest to the present one first.
// `replicas`: attention replicas that share the ranks; 0: those of the launch.
template <typename Fits>
std::vector<std::string> widths(const LaunchFacts& f, const Fits& fits, std::int64_t replicas = 0) {
  const std::int64_t share = replicas > 0 ? replicas : std::max<std::int64_t>(1, f.tp() / attention_ranks(f));
  const std::int64_t width = f.tp() / share;
  std::vector<std::string> list;
  constexpr std::int64_t kWidest = 64;
  const auto add = [&](std::int64_t tp) {
    if (tp >= 1 && tp <= kWidest && list.size() < kFewValues && fits(tp))
      list.push_back(std::to_string(integer::bounded_times(tp, share)));
  };
  for (std::int64_t tp = std::min(width, kWidest + 1) - 1; tp >= 1 && list.size() + 1 < kFewValues; --tp) add(tp);
  for (std::int64_t tp = integer::bounded_plus(width, 1);
       tp <= std::min(kWidest, integer::bounded_times(width, 2)) && list.size() < kFewValues; ++tp)
    add(tp);
  return list;
}

std::string where_tp(const LaunchFacts& f) {
  const std::int64_t ranks = attention_ranks(f);
  return ranks == f.tp() ? fmt::format("--tp-size {}", f.tp())
                         : fmt::format("attention tensor parallelism {} (tp {} over {} attention replicas)", ranks,
                                       f.tp(), f.tp() / ranks);
}

// The fewest groups of attention's own that leave it a width that fits, on the same ranks.
template <typename Fits>
std::optional<Remedy> attention_groups(const LaunchFacts& f, const Fits& fits) {
  constexpr std::int64_t kMost = 64;
  if (f.attention_dp() > 1 || f.ordinary_dp() > 1 || cuts_over_all_ranks(f)) return std::nullopt;
  for (std::int64_t groups = 2; groups <= std::min(f.tp(), kMost); ++groups) {
    if (f.tp() % groups != 0 || !fits(f.tp() / groups)) continue;
    const std::vector<std::string> value{std::to_string(groups)};
    if (f.since(22)) return to_give("--attn-dp-size", value);
    return together({to_give("--dp-size", value), to_give("--enable-dp-attention")});
  }
  return std::nullopt;
}

// Attention's width made one that fits: by other ranks, or by groups of them.
template <typename Fits>
std::vector<Remedy> other_widths(const LaunchFacts& f, const Fits& fits) {
  std::vector<Remedy> list = {to_give("--tp-size", widths(f, fits))};
  if (auto groups = attention_groups(f, fits)) list.push_back(std::move(*groups));
  return list;
}

// The widest tensor parallelism that this machine has GPUs for, then less of everything else, then all the GPUs.
std::vector<Remedy> fewer_ranks(const LaunchFacts& f, std::int64_t needed) {
  std::vector<Remedy> list;
  const std::int64_t others = std::max<std::int64_t>(1, integer::bounded_times(f.ordinary_dp(), f.pp()));
  for (std::int64_t tp = std::min<std::int64_t>(f.tp() - 1, f.device().count / others); tp >= 1; --tp) {
    if (f.has_model() && !heads_divide(f.model(), tp)) continue;
    list.push_back(to_give("--tp-size", {std::to_string(tp)}));
    break;
  }
  for (const char* option : {"--dp-size", "--pp-size", "--base-gpu-id"}) {
    list.push_back({.steps = {{StepKind::kLower, option}}});
  }
  const bool can_be_more = !facts::is_integrated(f.device()) && needed <= facts::kMostCards;
  if (can_be_more) list.push_back(with_cards(needed));
  return list;
}

// A container or a mask hides cards that the machine may have: to show them gives up nothing.
std::vector<Remedy> cards_shown(const LaunchFacts& f, std::int64_t needed) {
  std::vector<Remedy> list;
  if (f.sharing()) {
    list.push_back(
        in_words(fmt::format("{} for the container, where the machine has them (--device /dev/dri of docker, "
                             "gpu.intel.com of Kubernetes)",
                             counted(needed, "card"))));
  }
  const auto mask = f.launch().env.find("ZE_AFFINITY_MASK");
  if (mask != f.launch().env.end() && !mask->second.empty()) {
    list.push_back(
        in_words(fmt::format("a ZE_AFFINITY_MASK that names {}, where the machine has them", counted(needed, "card"))));
  }
  return list;
}

std::optional<Finding> device_count(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu")) return std::nullopt;  // whose devices are not these cards
  const NodeRanks here = node_ranks(f);
  const std::int64_t ranks = here.count();
  const std::int64_t highest = here.highest_gpu();
  if (highest < f.device().count) return std::nullopt;
  const int count = f.device().count;  // after masks, tiles and what its container is given
  const std::string seen = count == 0   ? "no GPU"
                           : count == 1 ? "1 (GPU 0)"
                                        : fmt::format("{} (GPU 0 to {})", count, count - 1);
  const std::int64_t needed = integer::bounded_plus(highest, 1);
  std::vector<Remedy> remedies = cards_shown(f, needed);
  for (Remedy& fewer : fewer_ranks(f, needed)) remedies.push_back(std::move(fewer));
  return Finding{
      .message = fmt::format("the launch has {}, up to GPU {}, but sees {}", counted(ranks, "rank"), highest, seen),
      .remedies = std::move(remedies),
      .excess = static_cast<double>(highest + 1 - count) / std::max(1, count)};
}

// The list is read at the index of the rank's device.
std::optional<Finding> too_few_numa_nodes(const LaunchFacts& f) {
  const Value& nodes = f[Field::numa_node];
  if (!nodes.is_list()) return std::nullopt;
  const auto named = static_cast<std::int64_t>(nodes.as_list().size());
  const std::int64_t highest = node_ranks(f).highest_gpu();
  if (highest < named) return std::nullopt;
  return Finding{.message =
                     fmt::format("--numa-node names {} and a rank runs on GPU {}", counted(named, "node"), highest)};
}

constexpr double kGib = 1024.0 * 1024 * 1024;

// A share of the device that holds the weights and a little more; none where that leaves nothing.
std::optional<Remedy> share_for(double need, double device) {
  if (need >= 0.88 * device) return std::nullopt;
  return to_give("--mem-fraction-static", {fmt::format("{:.2f}", need / device + 0.07)});
}

// Weights of the model and its draft on one rank, where the pool is sized after both are loaded.
struct Loaded {
  double model = 0;
  double draft = 0;
  bool exact = true;    // no part of it is approximated
  bool counted = true;  // from the files, without a rest: as the memory sheet has it
  [[nodiscard]] double all() const { return model + draft; }
};

std::optional<Loaded> loaded_on_rank(const LaunchFacts& f, std::int64_t tp = 0) {
  const auto weights = plan::count_weights(f.model(), plan::weight_split(f.launch(), tp), f.weight_files());
  if (!weights) return std::nullopt;
  Loaded loaded{.model = static_cast<double>(weights->per_rank_bytes),
                .exact = weights->exact,
                .counted = weights->exact && weights->from_files};
  if (f.draft_model() == nullptr || plan::draft_comes_after_pool(f.launch())) return loaded;
  const plan::DraftCost draft = plan::draft_cost(f.launch(), *f.draft_model(), tp);
  loaded.draft = static_cast<double>(draft.weight_bytes);
  loaded.counted = loaded.counted && draft.weight_bytes == 0;
  constexpr double kLittle = 0.05;  // an approximation of so small a part does not matter
  loaded.exact = loaded.exact && (draft.exact || loaded.draft < kLittle * loaded.model);
  return loaded;
}

constexpr double kShare = 0.8;  // of the device: what is left holds a KV cache and activations

// More ranks on this machine that hold the weights; `widest`: the most that the heads allow.
std::optional<Remedy> more_ranks(const LaunchFacts& f, double device, std::int64_t& widest) {
  const std::int64_t gpus =
      f.device().count / std::max<std::int64_t>(1, integer::bounded_times(f.ordinary_dp(), f.pp()));
  widest = f.tp();
  for (std::int64_t tp = integer::bounded_times(f.tp(), 2); tp <= gpus; tp *= 2) {
    if (!heads_divide(f.model(), tp)) continue;
    widest = tp;
    const auto weights = loaded_on_rank(f, tp);
    if (!weights || weights->all() > kShare * device) continue;
    // The default share shrinks as ranks are added; where that would leave too little, the share is named, too.
    const Remedy ranks = to_give("--tp-size", {std::to_string(tp)});
    const bool tight = weights->all() > 0.7 * f.number(Field::mem_fraction_static, 0.0) * device;
    const auto share = tight ? share_for(weights->all(), device) : std::nullopt;
    return share ? together({ranks, *share}) : ranks;
  }
  return std::nullopt;
}

// The fewest ranks, twice as many or more, that hold the weights on cards of so much memory, and as many cards as they
// take.
struct WiderRanks {
  Remedy remedy;
  std::int64_t cards = 0;
};

std::optional<WiderRanks> wider_ranks(const LaunchFacts& f, double device, std::int64_t least_cards) {
  const std::int64_t others = std::max<std::int64_t>(1, integer::bounded_times(f.ordinary_dp(), f.pp()));
  for (std::int64_t tp = integer::bounded_times(f.tp(), 2); tp <= facts::kMostCards; tp *= 2) {
    const std::int64_t cards = integer::bounded_times(tp, others);
    if (cards > facts::kMostCards) break;
    const auto weights = cards >= least_cards && heads_divide(f.model(), tp) ? loaded_on_rank(f, tp) : std::nullopt;
    if (!weights || weights->all() > kShare * device) continue;
    const bool tight = weights->all() > 0.7 * f.number(Field::mem_fraction_static, 0.0) * device;
    const Remedy share = (tight ? share_for(weights->all(), device) : std::nullopt).value_or(Remedy{});
    return WiderRanks{together({to_give("--tp-size", {std::to_string(tp)}), share}), cards};
  }
  return std::nullopt;
}

// Ranks on more cards than this machine has, of this kind or of the largest.
std::vector<Remedy> more_cards(const LaunchFacts& f, double device) {
  std::vector<Remedy> list;
  if (node_ranks(f).nodes > 1) return list;
  const auto same = facts::is_integrated(f.device()) ? std::nullopt : wider_ranks(f, device, f.device().count + 1);
  if (same) list.push_back(together({same->remedy, with_cards(same->cards)}));
  const auto largest = facts::find_device_profile(facts::largest_card());
  const auto others = wider_ranks(f, static_cast<double>(largest->memory_mib) * 1024 * 1024, 1);
  if (others) list.push_back(together({others->remedy, on_other_cards(others->cards)}));
  return list;
}

// What this machine cannot hold: stages on several such machines, or the rest in host memory.
std::vector<Remedy> beyond_this_machine(const LaunchFacts& f, double need, double device, std::int64_t widest) {
  const auto weights = loaded_on_rank(f, widest);
  const double rank = weights ? weights->all() : need;
  // On several machines the cards are those that ranks have now: stages multiply them as they are.
  const std::int64_t nodes_now = node_ranks(f).nodes;
  const std::int64_t cards_now = nodes_now > 1 ? widest : f.device().count;
  const double each = rank * static_cast<double>(widest) / static_cast<double>(std::max<std::int64_t>(1, cards_now));
  const auto stages = std::max<std::int64_t>(2, integer::bounded_whole(std::ceil(each / (kShare * device))));
  const Remedy ranks = widest > f.tp() ? to_give("--tp-size", {std::to_string(widest)}) : Remedy{};
  const Remedy share = share_for(each / static_cast<double>(stages), device).value_or(Remedy{});
  const std::int64_t nodes = integer::bounded_times(nodes_now, stages);
  std::vector<Remedy> list = {
      together({ranks, to_give("--pp-size", {std::to_string(integer::bounded_times(f.pp(), stages))}),
                to_give("--nnodes", {std::to_string(nodes)}), to_give("--dist-init-addr", {std::string(kSomeAddress)}),
                share, in_words(fmt::format("on {} such machines", nodes))})};
  // The host's memory is a processor's own GPU's already.
  if (facts::is_integrated(f.device())) return list;
  const double kept = rank - 0.5 * device;
  const double offloaded = std::ceil(plan::bytes_when_created(f.launch(), kept) / kGib);
  const double ranks_here = std::ceil(static_cast<double>(node_ranks(f).count()) * static_cast<double>(widest) /
                                      static_cast<double>(std::max<std::int64_t>(1, f.tp())));
  list.push_back(
      together({ranks, to_give("--cpu-offload-gb", {fmt::format("{:.0f}", offloaded)}),
                to_give("--mem-fraction-static", {"0.7"}),
                in_words(fmt::format("(the weights are then read from {:.0f} GiB of host memory{}, slowly)",
                                     std::ceil(kept / kGib) * ranks_here, nodes_now > 1 ? " on each machine" : ""))}));
  return list;
}

// What helps on this machine first: a larger share, more ranks, less precise weights.
std::vector<Remedy> room_for_weights(const LaunchFacts& f, double need, double device) {
  std::vector<Remedy> list;
  if (auto share = share_for(need, device)) list.push_back(std::move(*share));
  std::int64_t widest = f.tp();
  if (auto ranks = more_ranks(f, device, widest)) list.push_back(std::move(*ranks));
  if (f.model().quantization) {
    list.push_back(in_words("a smaller checkpoint of the model"));
  } else {
    list.push_back({.stored_as = "fp8"});
  }
  if (list.size() > 1) return list;
  list.push_back(on_another_card());
  for (Remedy& remedy : more_cards(f, device)) list.push_back(std::move(remedy));
  for (Remedy& remedy : beyond_this_machine(f, need, device, widest)) list.push_back(std::move(remedy));
  return list;
}

// What an estimate leaves of the budget.
std::string left_for_cache(double need, double budget) {
  if (need >= budget) return ": by this estimate nothing is left for the KV cache";
  if (need > 0.98 * budget) return ": next to nothing is left for the KV cache";
  return fmt::format(": {:.1f} GiB is left for the KV cache", (budget - need) / kGib);
}

std::optional<Finding> weights_over_budget(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu")) return std::nullopt;  // the budget is of another memory
  const auto weights = loaded_on_rank(f);
  const auto fraction = f.static_share();
  if (!weights || !fraction || f.is(Field::load_format, "dummy_zero")) return std::nullopt;
  const double device = static_cast<double>(f.device().memory_mib) * 1024 * 1024;
  const double need = weights->model - plan::offloaded_bytes(f.launch(), weights->model).kept + weights->draft;
  const double budget = *fraction * device;
  // An estimate must not refuse a working launch: an error needs a clear margin, and more of it where a part of the
  // model is approximated. What is counted from the files needs none.
  const double sure = weights->counted ? 1.0 : weights->exact ? 1.05 : 1.15;
  if (need < 0.95 * budget) return std::nullopt;
  const std::string drafted =
      weights->draft > 0 ? fmt::format(" ({:.1f} of them for the draft model)", weights->draft / kGib) : std::string();
  Finding finding{.message = fmt::format("{}{:.1f} GiB of weights per GPU{}; the static budget is {:.3f} of {:.1f} "
                                         "GiB = {:.1f} GiB",
                                         weights->counted ? "" : "about ", need / kGib, drafted, *fraction,
                                         device / kGib, budget / kGib),
                  .remedies = room_for_weights(f, weights->all(), device),
                  .excess = need / budget - 1};
  if (weights->draft > 0 && need - weights->draft < 0.9 * budget) {
    finding.remedies.push_back(to_drop("--speculative-algorithm"));
  }
  if (need < sure * budget) {
    finding.severity = Severity::kWarning;
    // How large adapters are stands in their files, which no rule reads.
    finding.message += f.on(Field::enable_lora) && need < budget ? ": adapters and the KV cache share what is left"
                                                                 : left_for_cache(need, budget);
  }
  if (f.since(20) && !f.given(Field::mem_fraction_static)) {
    finding.message += "; SGLang's own share keeps 2 GiB more of the card free than before 0.5.20";
  }
  return finding;
}

// What a draft takes once the pool is sized, outside its budget: before 0.5.14 all of it, since then the cache of
// layers that the pool makes no room for, such as those of a target that drafts for itself.
struct BesidePool {
  double weights_gib = 0;
  double cache_gib = 0;
  double left_gib = 0;
  [[nodiscard]] double all() const { return weights_gib + cache_gib; }
};

std::optional<BesidePool> draft_beside_pool(const LaunchFacts& f) {
  const auto fraction = f.static_share();
  if (!f.is(Field::device, "xpu") || f.draft_model() == nullptr || !fraction) return std::nullopt;
  const auto sheet = sheet_of(f);
  if (!sheet || !sheet->fits()) return std::nullopt;
  return BesidePool{.weights_gib = sheet->draft_after_pool ? sheet->draft_gib : 0.0,
                    .cache_gib = sheet->draft_cache_gib,
                    .left_gib = sheet->device_gib * (1 - *fraction)};
}

std::optional<Finding> draft_does_not_fit(const LaunchFacts& f) {
  const auto draft = draft_beside_pool(f);
  if (!draft || draft->all() <= draft->left_gib) return std::nullopt;
  return Finding{
      .message = fmt::format("the draft takes about {:.1f} GiB beside the KV pool ({:.1f} of weights, {:.1f} of "
                             "cache); {:.1f} are left outside the static budget",
                             draft->all(), draft->weights_gib, draft->cache_gib, draft->left_gib),
      .excess = draft->all() / std::max(draft->left_gib, 0.01) - 1};
}

std::optional<Finding> second_draft_cache(const LaunchFacts& f) {
  const auto draft = draft_beside_pool(f);
  constexpr double kLittle = 0.05;
  if (!draft || draft->cache_gib < kLittle || draft->all() > draft->left_gib) return std::nullopt;
  return Finding{.message = fmt::format("the draft's own KV cache takes about {:.1f} GiB of the {:.1f} that are left "
                                        "outside the static budget",
                                        draft->cache_gib, draft->left_gib)};
}

// MLA's products are made of a projection's weights once they are loaded, and stay where those are.
std::optional<Finding> offloaded_mla(const LaunchFacts& f) {
  if (f.is(Field::device, "cpu") || f.integer(Field::cpu_offload_gb, 0) <= 0) return std::nullopt;
  if (!f.model().is_mla()) return std::nullopt;
  return Finding{.message = fmt::format("--cpu-offload-gb {} leaves a part of this model's attention in host memory",
                                        f.integer(Field::cpu_offload_gb, 0))};
}

// Each rank keeps its own part there, and no more than it has.
std::optional<Finding> offloaded_beyond_the_host(const LaunchFacts& f) {
  const auto asked = static_cast<double>(f.integer(Field::cpu_offload_gb, 0));
  const auto weights = asked > 0 && f.is(Field::device, "xpu") ? loaded_on_rank(f) : std::nullopt;
  if (!weights || !f.device().host_memory_mib) return std::nullopt;
  const double each = plan::offloaded_bytes(f.launch(), weights->model).created;
  const double all = each * static_cast<double>(node_ranks(f).count());
  const double host = static_cast<double>(*f.device().host_memory_mib) * 1024 * 1024;
  if (all <= host) return std::nullopt;
  // The figure is one NUMA node's, as --host-memory says, and how many nodes there are is not known.
  const facts::MemoryLimit* limit = f.memory_limit();
  const std::string whose = limit != nullptr
                                ? fmt::format("the launch may take {:.1f} GiB ({})", host / kGib, limit->said_by)
                                : fmt::format("a NUMA node of the host has {:.1f} GiB", host / kGib);
  return Finding{
      .message = fmt::format("--cpu-offload-gb {:.0f} keeps {:.1f} GiB of weights in host memory ({} here); {}", asked,
                             all / kGib, counted(node_ranks(f).count(), "rank"), whose),
      .excess = all / host - 1};
}

// With --device cpu a rank's weights are in the host's memory, and its budget is a NUMA node's share of that.
std::optional<Finding> weights_beyond_the_host(const LaunchFacts& f) {
  const double host = static_cast<double>(facts::host_memory_mib(f.device(), f.release())) * 1024 * 1024;
  const auto weights = host > 0 ? loaded_on_rank(f) : std::nullopt;
  if (!weights) return std::nullopt;
  const double each = weights->all();
  if (each <= host) return std::nullopt;
  return Finding{.message = fmt::format("{}{:.1f} GiB of weights for each rank; a NUMA node of the host has {:.1f} GiB",
                                        weights->counted ? "" : "about ", each / kGib, host / kGib),
                 .counted = weights->counted,
                 .excess = each / host - 1};
}

std::optional<Finding> unquantised_while_loading(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!f.is(Field::device, "xpu")) return std::nullopt;
  if (!plan::quantised_after_loading(f.launch()) || f.is(Field::load_format, "layered")) return std::nullopt;
  ModelFacts stored = m;
  stored.quantization.reset();
  const auto split = plan::weight_split(f.launch());
  const facts::WeightFiles* files = f.weight_files();
  const auto before = plan::count_weights(stored, split, files);
  const auto after = plan::estimate_weights(m, split);
  if (!before || !after) return std::nullopt;
  // What is kept in host memory goes there layer by layer, as each is created.
  const double elsewhere = static_cast<double>(std::max<std::int64_t>(0, f.integer(Field::cpu_offload_gb, 0))) * kGib;
  const double need = static_cast<double>(before->per_rank_bytes) - elsewhere;
  const double device = static_cast<double>(f.device().memory_mib) * 1024 * 1024;
  if (need <= device) return std::nullopt;
  const bool counted = before->exact && before->from_files;
  std::vector<Remedy> remedies = {{.stored_as = "fp8"}};
  std::int64_t widest = f.tp();
  for (std::int64_t tp = integer::bounded_times(f.tp(), 2); tp <= f.device().count; tp *= 2) {
    const auto wider = plan::count_weights(stored, plan::weight_split(f.launch(), tp), files);
    if (!heads_divide(f.model(), tp) || !wider || static_cast<double>(wider->per_rank_bytes) > kShare * device)
      continue;
    widest = tp;
    break;
  }
  if (widest > f.tp()) remedies.push_back(to_give("--tp-size", {std::to_string(widest)}));
  remedies.push_back(on_another_card());
  return Finding{.message = fmt::format("{}{:.1f} GiB of weights per GPU while they load, before they are FP8 and "
                                        "take {}{:.1f}; the card has {:.1f}",
                                        counted ? "" : "about ", need / kGib, counted ? "about " : "",
                                        static_cast<double>(after->per_rank_bytes) / kGib, device / kGib),
                 .remedies = std::move(remedies),
                 .counted = counted,
                 .excess = need / device - 1};
}

// SGLang's own reserve is generous, so a fraction above its choice often runs; where not even one chunk's activations
// have room, the first long prompt does not. What is between is said, not warned of.
std::optional<Finding> little_outside_budget(const LaunchFacts& f) {
  const auto fraction = f.static_share();
  if (!f.given(Field::mem_fraction_static) || !fraction) return std::nullopt;
  const double device = static_cast<double>(f.device().memory_mib) / 1024;
  const double left = device * (1 - *fraction);
  const double reserve = plan::activation_reserve_gib(f.launch());
  if (left >= reserve) return std::nullopt;
  const std::string own =
      reserve < device ? fmt::format("where SGLang's own fraction leaves {:.1f}", reserve)
                       : fmt::format("and what SGLang reserves by itself, {:.1f}, is more than the card has", reserve);
  Finding finding{
      .message = fmt::format("{:.1f} GiB of {:.1f} are left outside the static budget, {}", left, device, own),
      .severity = Severity::kInfo};
  const auto chunk = plan::prefill_activations(f);
  if (!chunk) return finding;
  const double activations = static_cast<double>(chunk->bytes) / kGib;
  finding.message += fmt::format("; a prefill chunk of {} tokens takes about {:.1f} of activations in this model",
                                 chunk->tokens, activations);
  if (left < activations + plan::kRuntimeReserveGib) {
    finding.severity = Severity::kWarning;
    finding.message += ": the first long prompt probably runs out of memory";
  }
  return finding;
}

// Heads of an audio encoder beside the language model's own, and the ranks that share them: Voxtral's class cuts them
// over all, that of Qwen3-Omni and Qwen3-ASR over attention's. AssertionError in ensure_divisibility: recorded of
// 0.5.23, and cut alike since 0.5.11.
struct EncoderHeads {
  std::int64_t count = 0;  // 0: none that is known to be cut
  std::int64_t ranks = 1;
};

EncoderHeads encoder_heads(const LaunchFacts& f) {
  const bool of_thinker =
      has_class(f.model(), {"Qwen3OmniMoeForConditionalGeneration", "Qwen3ASRForConditionalGeneration"});
  if (!of_thinker && !f.model().has_architecture("VoxtralForConditionalGeneration")) return {};
  const Value thinker = f.model().root("thinker_config");
  const Value* inner = thinker.is_dict() ? thinker.find("audio_config") : nullptr;
  const Value audio = !of_thinker ? f.model().root("audio_config") : inner != nullptr ? *inner : Value();
  if (!audio.is_dict()) return {};
  for (const char* key : {"encoder_attention_heads", "num_attention_heads"}) {
    if (const Value* heads = audio.find(key); heads != nullptr && heads->is_int()) {
      return {heads->as_int(), of_thinker ? f.attention_tp() : f.tp()};
    }
  }
  return {};
}

std::string_view do_not(std::int64_t n) { return n == 1 ? "does not" : "do not"; }

std::optional<Finding> query_heads(const LaunchFacts& f) {
  const std::int64_t heads = f.model().num_attention_heads;
  if (const EncoderHeads encoder = encoder_heads(f); encoder.count > 0 && encoder.count % encoder.ranks != 0) {
    const auto fits = [&](std::int64_t tp) { return encoder.count % tp == 0 && heads % tp == 0; };
    return Finding{.message = fmt::format("{} of the audio encoder {} divide by {}", counted(encoder.count, "head"),
                                          do_not(encoder.count), where_tp(f)),
                   .remedies = {to_give("--tp-size", widths(f, fits))}};
  }
  if (heads <= 0 || heads % attention_ranks(f) == 0) return std::nullopt;
  return Finding{
      .message = fmt::format("{} {} divide by {}", counted(heads, "attention head"), do_not(heads), where_tp(f)),
      .remedies = other_widths(f, [&](std::int64_t tp) { return heads % tp == 0; })};
}

std::optional<Finding> kv_heads(const LaunchFacts& f) {
  const std::int64_t kv = total_kv_heads(f.model());
  const std::int64_t atp = attention_ranks(f);
  if (f.model().is_mla() || kv <= 0) return std::nullopt;
  const bool by_transformers = transformers_serves(f);  // SGLang's backend for its classes divides, and no more
  const bool repeats = repeats_kv_heads(f.model()) && !by_transformers;
  const auto shared = [&](std::int64_t tp) { return kv >= tp ? kv % tp == 0 : repeats && tp % kv == 0; };
  if (shared(atp)) return std::nullopt;
  const auto fits = [&](std::int64_t tp) { return shared(tp) && f.model().num_attention_heads % tp == 0; };
  const std::string message =
      repeats ? fmt::format("{} key/value heads fit {} neither way: one must divide the other", kv, where_tp(f))
              : fmt::format("{} key/value heads do not divide by {}, and {} repeats none", kv, where_tp(f),
                            by_transformers ? "transformers' class" : f.model().architectures.front());
  return Finding{.message = message, .remedies = other_widths(f, fits)};
}

std::optional<Finding> linear_heads(const LaunchFacts& f) {
  const std::int64_t heads = linear_attention_heads(f.model());
  if (heads <= 0 || heads % f.attention_tp() == 0) return std::nullopt;
  return Finding{.message = fmt::format("{} linear-attention heads do not divide by {}", heads, where_tp(f)),
                 .remedies = other_widths(f, [&](std::int64_t tp) { return heads % tp == 0; })};
}

// Column-parallel projections are cut by an exact division, over all ranks whatever groups attention has.
std::optional<Finding> dense_layers_uneven(const LaunchFacts& f) {
  const std::int64_t width = f.shared_dense_width();
  if (width <= 0 || width % f.tp() == 0) return std::nullopt;
  const std::int64_t groups = std::max<std::int64_t>(1, f.tp() / attention_ranks(f));
  const auto fits = [&](std::int64_t tp) {
    return width % integer::bounded_times(tp, groups) == 0 && heads_divide(f.model(), tp);
  };
  Finding finding{.message = fmt::format("the MLP's width of {} does not divide by --tp-size {}", width, f.tp()),
                  .remedies = {to_give("--tp-size", widths(f, fits, groups))}};
  if (groups > 1 && has_experts(f.model())) finding.remedies.push_back(to_give("--moe-dense-tp-size", {"1"}));
  return finding;
}

// The fused expert layer asserts the same of an expert's width.
std::optional<Finding> experts_uneven(const LaunchFacts& f) {
  const Experts e = experts(f.model());
  if (e.intermediate_size <= 0 || e.intermediate_size % f.moe_tp() == 0) return std::nullopt;  // none without experts
  return Finding{
      .message = fmt::format("an expert's width of {} does not divide by {} ranks", e.intermediate_size, f.moe_tp()),
      .remedies = {to_give("--tp-size", widths(f, [&](std::int64_t tp) {
                             return e.intermediate_size % tp == 0 && heads_divide(f.model(), tp);
                           }))}};
}

// MambaMixer2 cuts its groups over attention's ranks, and repeats a single one, unless a method of quantisation is
// there.
std::optional<Finding> mamba_groups(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const auto is = [&](std::string_view name) {
    return !m.architectures.empty() && m.architectures.front().starts_with(name);
  };
  const bool hears_method = is("GraniteMoeHybrid") || is("NemotronH") || is("Mamba2");
  if (f.attention_tp() == 1 || (!hears_method && !is("FalconH1"))) return std::nullopt;
  std::int64_t groups = 1;
  for (const char* key : {"n_groups", "mamba_n_groups"}) {
    if (const Value* told = m.hf_text_config.find(key); told != nullptr && told->is_int()) groups = told->as_int();
  }
  const auto fits = [&](std::int64_t tp) {
    return groups % tp == 0 || (groups == 1 && !(hears_method && m.quantization));
  };
  if (groups <= 0 || fits(f.attention_tp())) return std::nullopt;
  return Finding{.message = groups == 1 ? fmt::format("the mixer's one group is quantised over {}", where_tp(f))
                                        : fmt::format("the mixer's {} groups do not divide by {}", groups, where_tp(f)),
                 .remedies = other_widths(f, fits)};
}

// Bailing's linear attention normalises its output by groups, and each rank has whole ones.
std::optional<Finding> lightning_groups(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const std::int64_t every = config_int(m, "layer_group_size", 1);
  if (!has_class(m, {"BailingMoeV2_5ForCausalLM"}) || every <= 1) return std::nullopt;
  const std::int64_t groups = config_int(m, "group_norm_size", 1);
  const auto fits = [&](std::int64_t tp) { return groups % tp == 0; };
  if (groups <= 0 || fits(f.attention_tp())) return std::nullopt;
  return Finding{.message = fmt::format("the {} groups by which linear attention normalises its output do not divide "
                                        "by {}",
                                        groups, where_tp(f)),
                 .remedies = other_widths(f, fits)};
}

std::optional<Finding> mixer_groups(const LaunchFacts& f) {
  const auto finding = mamba_groups(f);
  return finding ? finding : lightning_groups(f);
}

// Every rank of expert parallelism has as many experts, copies of busy ones among them.
std::optional<Finding> experts_over_ranks(const LaunchFacts& f) {
  const std::int64_t count =
      integer::bounded_plus(routed_experts(f.model()), f.integer(Field::ep_num_redundant_experts, 0));
  if (!has_experts(f.model()) || f.ep() <= 1 || count % f.ep() == 0) return std::nullopt;
  if (f.is(Field::ep_join_mode, "scale")) return std::nullopt;  // they are counted over the ranks before
  std::vector<std::string> fitting;
  for (std::int64_t ep = std::min(f.ep(), f.tp()); ep >= 1 && fitting.size() < kFewValues; --ep) {
    if (f.tp() % ep == 0 && count % ep == 0) fitting.push_back(std::to_string(ep));
  }
  return Finding{
      .message = fmt::format("{} {} divide by --ep-size {}", counted(count, "expert"), do_not(count), f.ep()),
      .remedies = {to_give("--ep-size", std::move(fitting))}};
}

// Layers that the variable gives each stage, as get_pp_indices reads them.
std::optional<Finding> stages_unlike_partition(const LaunchFacts& f) {
  const std::int64_t layers = f.model().num_hidden_layers;
  const auto told = plan::told_partition(f, f.pp());
  if (!told || layers <= 0) return std::nullopt;
  const auto stages = static_cast<std::int64_t>(told->size());
  const std::int64_t sum = std::accumulate(told->begin(), told->end(), std::int64_t{0}, integer::bounded_plus);
  if (stages == f.pp() && sum == layers) return std::nullopt;
  const std::string& text = f.launch().env.at("SGLANG_PP_LAYER_PARTITION");
  return Finding{.message = stages > 0
                                ? fmt::format("SGLANG_PP_LAYER_PARTITION={} gives {} {}; there are {} stages and {}",
                                              text, counted(stages, "stage"), counted(sum, "layer"), f.pp(),
                                              counted(layers, "layer"))
                                : fmt::format("SGLANG_PP_LAYER_PARTITION={} is no list of numbers", text)};
}

std::optional<Finding> more_stages_than_layers(const LaunchFacts& f) {
  const std::int64_t layers = f.model().num_hidden_layers;
  if (layers <= 0 || f.pp() <= layers) return std::nullopt;
  return Finding{.message = fmt::format("{} pipeline stages for {}", f.pp(), counted(layers, "layer"))};
}

std::optional<Finding> heads_over_plain_tp(const LaunchFacts& f) {
  const std::int64_t heads = f.model().num_attention_heads;
  if (!f.uses_xpu() || heads <= 0 || heads % f.tp() == 0) return std::nullopt;
  return Finding{
      .message = fmt::format("intel_xpu divides the {} by the whole --tp-size {}{}", counted(heads, "attention head"),
                             f.tp(), f.attention_dp() > 1 ? ", also under attention data parallelism" : ""),
      .remedies = {to_give("--attention-backend", {"triton"}),
                   to_give("--tp-size", widths(
                                            f, [&](std::int64_t tp) { return heads % tp == 0; }, 1))}};
}

constexpr std::string_view kDraftPools =
    "sglang/srt/model_executor/pool_configurator.py; since 0.5.16 sglang/srt/mem_cache/kv_cache_configurator.py";
constexpr std::string_view kModels = "sglang/srt/models, sglang/srt/layers/linear.py";

}  // namespace

std::span<const Rule> placement_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "PL001",
       .refs = {"DEV-3"},
       .field = Field::tp_size,
       .summary = "more ranks than GPUs",
       .why =
           "The rank that is given a GPU index beyond the last one dies with a RuntimeError while the worker starts. "
           "Where the number of GPUs is assumed this is a warning.",
       .remedies = {lower("--tp-size"), lower("--dp-size"), lower("--pp-size"), lower("--base-gpu-id"),
                    words("as many cards (--device-count)")},
       .source = "sglang/srt/model_executor/model_runner.py, later sglang/srt/distributed/bootstrap.py",
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = device_count,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --tp-size 8", .device = "b60x4"},
                     {.model = "qwen3-8b", .args = "--device xpu --base-gpu-id 7 --tp-size 2"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --base-gpu-id 6 --tp-size 2"},
                     {.model = "qwen3-8b", .args = "--device cpu --tp-size 8", .device = "b60x4"}}}},
      {.id = "PL002",
       .refs = {"MEM-1"},
       .field = Field::mem_fraction_static,
       .summary = "the weights fill the static memory budget",
       .why = "The KV cache is what the weights leave of the budget. Where they leave none the worker ends with a "
              "ValueError; before 0.5.14, and where what is left holds no page, with a RuntimeError.",
       .remedies = {raise("--mem-fraction-static"), lower("--chunked-prefill-size"), raise("--tp-size"),
                    stored_as("fp8"), remedy::on_another_card()},
       .source =
           "sglang/srt/model_executor/pool_configurator.py; since 0.5.14 model_runner_kv_cache_mixin.py beside it, "
           "since 0.5.16 sglang/srt/mem_cache/kv_cache_configurator.py; sglang/srt/arg_groups/memory_hook.py",
       .need = RuleNeed::kWholeModel,
       .check = weights_over_budget,
       .fires_on = {{{.model = "llama-3.1-70b-instruct", .args = "--device xpu --tp-size 2"},
                     {.model = "gemma-2-9b-it", .args = "--device xpu", .since = v0_5(20)}}},
       .quiet_on = {{{.model = "llama-3.1-70b-instruct", .args = "--device cpu --tp-size 2"},
                     {.model = "llama-3.1-70b-instruct",
                      .args = "--device xpu --tp-size 8 --mem-fraction-static 0.85"}}}},
      {.id = "PL008",
       .field = Field::quantization,
       .summary = "weights that are FP8 only after they have loaded do not fit before",
       .why =
           "--quantization fp8 creates each layer in the checkpoint's type on the card and quantises it once all are "
           "filled: OutOfMemoryError while the model is built.",
       .remedies = {stored_as("fp8"), raise("--tp-size"), remedy::on_another_card()},
       .source = "sglang/srt/layers/quantization/fp8.py; sglang/srt/model_loader/loader.py",
       .need = RuleNeed::kWholeModel,
       .check = unquantised_while_loading,
       .fires_on = {{{.model = "qwen3-14b", .args = "--device xpu --quantization fp8"}}},
       .quiet_on = {{{.model = "qwen3-14b", .args = "--device cpu --quantization fp8"},
                     {.model = "qwen3-14b", .args = "--device xpu --tp-size 2 --quantization fp8"}}}},
      {.id = "PL011",
       .field = Field::cpu_offload_gb,
       .summary = "weights of an MLA model in host memory before 0.5.21",
       .why =
           "The matrices w_kc and w_vc are cut from kv_b_proj's weights after loading, and are on the host where those "
           "are; a layer's forward brings parameters to the card, and these are none: RuntimeError for tensors on two "
           "devices. 0.5.21 keeps kv_b_proj on the card.",
       .remedies = {drop("--cpu-offload-gb"), in_release("0.5.21")},
       .source =
           "sglang/srt/utils/offloader.py: OffloaderV1; sglang/srt/models/deepseek_common/deepseek_weight_loader.py",
       .until = v0_5(21),
       .check = offloaded_mla,
       .fires_on = {{{.model = "deepseek-v2-lite-chat", .args = "--device xpu --tp-size 2 --cpu-offload-gb 4"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --cpu-offload-gb 4"},
                     {.model = "deepseek-v2-lite-chat", .args = "--device xpu --tp-size 2"}}}},
      {.id = "PL014",
       .certainty = Certainty::kLikely,
       .field = Field::cpu_offload_gb,
       .summary = "more weights offloaded than a NUMA node of the host has memory",
       .why = "Offloaded weights stay in host memory, pinned where SGLang can, for each rank by itself. Where the host "
              "has no second node, the system ends the process while it loads them; how many it has is not looked at. "
              "A limit of its container or unit ends it as well.",
       .remedies = {lower("--cpu-offload-gb"), raise("--tp-size"), stored_as("fp8"), words("a host with more memory")},
       .source = "sglang/srt/utils/offloader.py: OffloaderV1",
       .need = RuleNeed::kWholeModel,
       .check = offloaded_beyond_the_host,
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --cpu-offload-gb 4"}}}},
      {.id = "PL022",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::model_path,
       .summary = "weights beyond the memory of a NUMA node with --device cpu",
       .why = "A rank keeps its weights in the host's memory, and SGLang gives it what one node has for weights and KV "
              "cache together. Where the host has no second node, the system ends the process while it loads them; how "
              "many it has is not looked at.",
       .remedies = {words("a host with more memory"), words("a smaller checkpoint of the model")},
       .source = "sglang/srt/utils/common.py: get_available_gpu_memory; sglang/srt/arg_groups/memory_hook.py, before "
                 "0.5.19 sglang/srt/server_args.py",
       .device = "cpu",
       .need = RuleNeed::kWholeModel,
       .doubtful = true,
       .check = weights_beyond_the_host,
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device cpu"}}}},
      {.id = "PL018",
       .field = Field::tp_size,
       .summary = "the groups of a recurrent layer do not go over the ranks",
       .why =
           "AssertionError while the model is built: each rank has as many groups, or a copy of a Mamba mixer's only "
           "one where that is not quantised.",
       .fix = "a tensor-parallel size that divides the groups",
       .source = "sglang/srt/layers/attention/mamba/mamba.py, sglang/srt/models/bailing_moe_linear.py",
       .check = mixer_groups,
       .fires_on = {{{.model = "nvidia-nemotron-3-nano-30b-a3b-bf16",
                      .args = "--device xpu --tp-size 16 --disable-radix-cache",
                      .device = "b60x16"}}},
       .quiet_on = {{{.model = "nvidia-nemotron-3-nano-30b-a3b-bf16",
                      .args = "--device xpu --tp-size 8 --disable-radix-cache"}}}},
      {.id = "PL015",
       .field = Field::ep_size,
       .summary = "the experts do not divide by the ranks of expert parallelism",
       .why = "AssertionError while the model is built: every rank has as many experts.",
       .remedies = {drop("--ep-size"), drop("--ep-num-redundant-experts")},
       .source = "sglang/srt/layers/moe/fused_moe_triton/layer.py",
       .check = experts_over_ranks,
       .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 8 --ep-size 3"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 8 --ep-size 8"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 8"}}}},
      {.id = "PL016",
       .field = Field::pp_size,
       .summary = "layers that SGLANG_PP_LAYER_PARTITION shares out otherwise than the launch",
       .why = "ValueError in get_pp_indices, in every worker: the list has to have a number for each stage, and they "
              "have to add up to the layers.",
       .remedies = {unset("SGLANG_PP_LAYER_PARTITION")},
       .source = "sglang/srt/distributed/utils.py",
       .check = stages_unlike_partition,
       .fires_on =
           {{{.model = "qwen3-8b", .args = "--device xpu --pp-size 2", .env = "SGLANG_PP_LAYER_PARTITION=10,20"},
             {.model = "qwen3-8b", .args = "--device xpu --pp-size 2", .env = "SGLANG_PP_LAYER_PARTITION=x"}}},
       .quiet_on =
           {{{.model = "qwen3-8b", .args = "--device xpu --pp-size 2", .env = "SGLANG_PP_LAYER_PARTITION=10,26"},
             {.model = "qwen3-8b", .args = "--device xpu", .env = "SGLANG_PP_LAYER_PARTITION=10,20"}}}},
      {.id = "PL017",
       .field = Field::pp_size,
       .summary = "more pipeline stages than layers",
       .why = "AssertionError in make_layers while the model is built.",
       .remedies = {lower("--pp-size")},
       .source = "sglang/srt/utils/common.py",
       .check = more_stages_than_layers,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --pp-size 37"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --pp-size 36"}}}},
      {.id = "PL003",
       .refs = {"TP-1"},
       .field = Field::tp_size,
       .summary = "the attention heads do not divide by the tensor-parallel size",
       .why = "An assertion without advice in the model's attention layer, after the process group is up.",
       .fix = "a tensor-parallel size that divides the number of attention heads",
       .source = kModels,
       .decided_by = {"num_q_heads"},
       .check = query_heads,
       .fires_on = {{{.model = "qwen2.5-7b-instruct",
                      .args = "--device xpu --tp-size 8 --dp-size 8 --enable-dp-attention"},
                     {.model = "glm-4.7-flash", .args = "--device xpu --tp-size 8", .since = v0_5(13)}}},
       .quiet_on = {{{.model = "qwen2.5-7b-instruct", .args = "--device xpu --tp-size 4"},
                     {.model = "glm-4.7-flash",
                      .args = "--device xpu --tp-size 8 --dp-size 8 --enable-dp-attention"}}}},
      {.id = "PL004",
       .refs = {"TP-2"},
       .field = Field::tp_size,
       .summary = "the key/value heads and the tensor-parallel size fit neither way",
       .why = "Key/value heads are split over the ranks or copied to them; a remainder is an assertion while the model "
              "is built.",
       .fix = "a tensor-parallel size that divides the key/value heads, or is a multiple of them",
       .source = kModels,
       .decided_by = {"num_q_heads", "num_kv_heads"},
       .check = kv_heads,
       .fires_on = {{{.model = "phi-4", .args = "--device xpu --tp-size 8"},
                     {.model = "phi-4", .args = "--device xpu --tp-size 4"}}},
       .quiet_on = {{{.model = "phi-4", .args = "--device xpu --tp-size 2"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 8"}}}},
      {.id = "PL009",
       .field = Field::tp_size,
       .summary = "the width of a dense layer does not divide by the ranks",
       .why = "Each rank holds an equal part of the MLP: AssertionError while the model is built.",
       .remedies = {lower("--tp-size")},
       .source = "sglang/srt/layers/linear.py, sglang/srt/distributed/utils.py: divide",
       .check = dense_layers_uneven,
       .fires_on = {{{.model = "qwen2.5-1.5b-instruct", .args = "--device xpu --tp-size 6"}}},
       .quiet_on = {{{.model = "qwen2.5-1.5b-instruct", .args = "--device xpu --tp-size 4"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4"}}}},
      {.id = "PL010",
       .field = Field::tp_size,
       .summary = "the width of an expert does not divide by the ranks that share it",
       .why = "Each rank holds an equal part of every expert: AssertionError while the model is built.",
       .remedies = {lower("--tp-size"), words("--ep-size equal to it")},
       .source = "sglang/srt/layers/moe/fused_moe_triton/layer.py",
       .check = experts_uneven,
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 8 --ep-size 8"}}}},
      {.id = "PL005",
       .refs = {"TP-3"},
       .field = Field::tp_size,
       .summary = "the linear-attention heads do not divide by the tensor-parallel size",
       .why = "An assertion while the shape of the recurrent state is computed.",
       .fix = "a tensor-parallel size that divides the linear-attention heads",
       .source = "sglang/srt/configs/mamba_utils.py",
       .check = linear_heads,
       .fires_on = {{{.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache --tp-size 3"}}},
       .quiet_on = {{{.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache --tp-size 2"},
                     {.model = "qwen3-8b", .args = "--device xpu --tp-size 2"}}}},
      {.id = "PL006",
       .refs = {"R-1"},
       .field = Field::tp_size,
       .summary = "intel_xpu wants the attention heads to divide by the plain tensor-parallel size",
       .why = "A bare assertion in the backend's constructor. It ignores attention data parallelism, which the model "
              "itself allows.",
       .fix = "--attention-backend triton, or a tensor-parallel size that divides the heads",
       .source = "sglang/srt/layers/attention/xpu_backend.py",
       .device = "xpu",
       .since = v0_5(12),
       .decided_by = {"num_q_heads"},
       .check = heads_over_plain_tp,
       .fires_on = {{{.model = "glm-4.7-flash",
                      .args = "--device xpu --decode-attention-backend intel_xpu --tp-size 8 --dp-size 8 "
                              "--enable-dp-attention --moe-runner-backend triton"},
                     {.model = "qwen2.5-7b-instruct",
                      .args = "--device xpu --attention-backend intel_xpu --tp-size 8"}}},
       .quiet_on = {{{.model = "qwen2.5-7b-instruct", .args = "--device xpu --attention-backend intel_xpu --tp-size 4"},
                     {.model = "qwen2.5-7b-instruct", .args = "--device xpu --tp-size 8"}}}},
      {.id = "PL007",
       .severity = Severity::kWarning,
       .field = Field::mem_fraction_static,
       .summary = "little memory is left outside the static budget",
       .why =
           "Weights and KV cache take the static budget; activations of a prefill chunk, logits and the scratch of "
           "matrix products come from the rest. SGLang's own fraction leaves 1.5 MiB for every token of a chunk, half "
           "a GiB, and since 0.5.20 2 GiB more on XPU. That is generous; what a chunk's activations take by the "
           "model's own widths is a lower bound.",
       .remedies = {lower("--chunked-prefill-size"), lower("--mem-fraction-static")},
       .source = "sglang/srt/arg_groups/memory_hook.py, before 0.5.19 sglang/srt/server_args.py",
       .device = "xpu",
       .decided_by = {"dtype", "head_dim", "num_q_heads", "num_kv_heads"},
       .check = little_outside_budget,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --mem-fraction-static 0.98"},
                     {.model = "qwen3-8b",
                      .args = "--device xpu --mem-fraction-static 0.94 --chunked-prefill-size 8192"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu"},
                     {.model = "qwen3-8b", .args = "--device xpu --mem-fraction-static 0.6"}}}},
      {.id = "PL020",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::speculative_algorithm,
       .summary = "a draft's memory beside the KV pool does not fit",
       .why =
           "The pool takes what the static budget has left. Before 0.5.14 the draft is loaded after it; since then its "
           "cache of as many tokens is, where the target's configuration names no layers of the draft's to make room "
           "for. The worker ends with an out-of-memory error.",
       .remedies = {lower("--mem-fraction-static"), drop("--speculative-algorithm"), remedy::on_another_card()},
       .source = kDraftPools,
       .check = draft_does_not_fit,
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "PL021",
       .severity = Severity::kInfo,
       .certainty = Certainty::kLikely,
       .field = Field::speculative_algorithm,
       .summary = "a draft's KV cache stands beside the pool, outside the static budget",
       .why =
           "The target's configuration names no layers of the draft's to make room for, so that its cache of as many "
           "tokens is made after the pool and takes from what activations need.",
       .fix = "a smaller --mem-fraction-static where activations need more",
       .source = kDraftPools,
       .check = second_draft_cache,
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "PL012",
       .severity = Severity::kWarning,
       .field = Field::mem_fraction_static,
       .summary = "the KV cache holds not one request, by the memory sheet",
       .why = "One request of --context-length, else of 4,096 tokens, has no room, or nothing is left for the cache "
              "and the worker ends. An error where the weights are counted from the checkpoint's files and the card is "
              "known.",
       .remedies = {raise("--mem-fraction-static"), lower("--chunked-prefill-size"), raise("--tp-size"),
                    stored_as("fp8"), remedy::on_another_card()},
       .source = "sglang/srt/model_executor/pool_configurator.py; since 0.5.16 "
                 "sglang/srt/mem_cache/kv_cache_configurator.py",
       .need = RuleNeed::kWholeModel},
      {.id = "PL023",
       .field = Field::max_total_tokens,
       .summary = "a size that was given leaves the server no request",
       .why = "The worker asserts that its pools hold one request, and that it has a length, once they are made: after "
              "the weights are loaded. The tokens are cut to whole pages, and a request takes two of them at least, "
              "before 0.5.14 seven.",
       .remedies = {drop("--max-total-tokens"), drop("--context-length"), drop("--max-mamba-cache-size")},
       .source = "sglang/srt/managers/tp_worker.py, sglang/srt/model_executor/pool_configurator.py",
       .check = no_request_by_limit,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --max-total-tokens 1"},
                     {.model = "qwen3.5-9b", .args = "--device xpu --max-mamba-cache-size 2", .since = v0_5(18)}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --max-total-tokens 7 --page-size 1"},
                     {.model = "qwen3.5-9b", .args = "--device xpu --max-mamba-cache-size 8"}}}},
      {.id = "PL013",
       .field = Field::numa_node,
       .summary = "fewer NUMA nodes than GPUs",
       .why =
           "--numa-node has one node for every GPU from 0 on, also for those that --base-gpu-id and --gpu-id-step pass "
           "over. A rank whose GPU it does not reach ends with IndexError before its process starts.",
       .remedies = {drop("--numa-node"), words("one node for each GPU up to the last one used")},
       .source = "sglang/srt/utils/numa_utils.py, get_numa_node_if_available",
       .need = RuleNeed::kNothing,
       .check = too_few_numa_nodes,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2 --numa-node 0"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --base-gpu-id 2 --numa-node 0 1"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2 --numa-node 0 0"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
