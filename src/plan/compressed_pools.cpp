// Tested by tests/parity/check_pools.py against the releases' own configurator.
#include "src/plan/compressed_pools.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "src/facts/kinds.h"
#include "src/plan/window_pool.h"

namespace preflight::plan {
namespace {

constexpr std::int64_t kFew = 4;     // tokens to a latent in layers with an index
constexpr std::int64_t kMany = 128;  // and in the others
constexpr double kUsualWindowShare = 0.1;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::string_view environment(const LaunchView& view, std::string_view name) {
  const auto it = view.launch().env.find(std::string(name));
  return it == view.launch().env.end() ? std::string_view() : std::string_view(it->second);
}

// One stage of one launch.
class Pools {
 public:
  Pools(const LaunchView& view, const Stage& stage) : view_(view), m_(view.model()), page_(view.page_size()) {
    const Value ratios = m_.root("compress_ratios");
    for (std::int64_t i = stage.first; i < stage.end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (!ratios.is_list() || at >= ratios.as_list().size()) break;
      const Value& ratio = ratios.as_list()[at];
      ++layers_;
      few_ += ratio == Value(kFew) ? 1 : 0;
      many_ += ratio == Value(kMany) ? 1 : 0;
      known_ = known_ && (ratio == Value(0) || ratio == Value(kFew) || ratio == Value(kMany));
    }
    speculative_ = !view.algorithm().empty();
    cap_ = window_cap();
  }

  [[nodiscard]] bool known() const {
    const bool usual_layout = environment(view_, "SGLANG_DSV4_KV_LAYOUT").empty() &&
                              environment(view_, "SGLANG_DSV4_COMPRESSED_KV_LAYOUT").empty() &&
                              !view_.env_on("SGLANG_OPT_USE_ONLINE_COMPRESS");
    return known_ && layers_ > 0 && page_ % kMany == 0 && view_.since(15) && usual_layout &&
           !view_.on(Field::enable_hisparse) && !view_.on(Field::enable_encoder_swa_bounded_replay) &&
           !view_.is(Field::dsv4_attn_backend, "trtllm");
  }

  // Bytes of a token of the whole context, the window's share included where it follows the tokens.
  [[nodiscard]] double bytes_per_token() const {
    const std::int64_t scales = index_width() / 128 * 4;
    const double index = static_cast<double>(index_width() + scales);
    const double few = (latent_bytes(page_ / kFew) + index) / kFew * static_cast<double>(few_);
    const double many = latent_bytes(page_ / kMany) / kMany * static_cast<double>(many_);
    return (share() * window_slot() + few + many) * drafted();
  }

  [[nodiscard]] CompressedPools sized(std::int64_t bytes) const {
    const std::int64_t kept =
        state_bytes(requests(bytes)) +
        static_cast<std::int64_t>(static_cast<double>(cap_.value_or(0)) * window_slot() * drafted());
    const double left = static_cast<double>(std::max<std::int64_t>(0, bytes - kept));
    return of_tokens(static_cast<std::int64_t>(left / bytes_per_token()));
  }

  [[nodiscard]] CompressedPools of_tokens(std::int64_t tokens) const {
    tokens = tokens / page_ * page_;
    const double by_share = static_cast<double>(tokens) * share();
    return {tokens, cap_.value_or(static_cast<std::int64_t>(by_share) / page_ * page_)};
  }

  [[nodiscard]] std::int64_t layers() const { return layers_; }

 private:
  [[nodiscard]] std::int64_t latent() const { return m_.qk_nope_head_dim + m_.qk_rope_head_dim; }
  [[nodiscard]] std::int64_t index_width() const { return m_.index_head_dim.value_or(128); }
  // Since 0.5.21 pages are counted as they are allocated, and the window's pool can follow the requests.
  [[nodiscard]] bool as_allocated() const { return view_.since(21); }
  // fp8 latent, 16-bit rotary part and scales; a page of them is padded.
  [[nodiscard]] double latent_bytes(std::int64_t tokens_of_page) const {
    const std::int64_t slot = m_.qk_nope_head_dim + m_.qk_rope_head_dim * 2 + 8;
    if (!as_allocated()) return static_cast<double>(slot);
    return static_cast<double>(ceil_div(tokens_of_page * slot, 576) * 576) / static_cast<double>(tokens_of_page);
  }
  [[nodiscard]] std::int64_t state_element() const {
    const std::string_view name = environment(view_, "SGLANG_DSV4_COMPRESS_STATE_DTYPE");
    return name == "bfloat16" || name == "bf16" ? 2 : 4;
  }
  [[nodiscard]] std::int64_t ring(std::int64_t ratio) const {
    if (ratio == kFew) return speculative_ ? 16 : 8;
    return speculative_ ? 256 : 128;
  }
  [[nodiscard]] double window_slot() const {
    const double states = static_cast<double>(4 * (latent() + index_width()) * state_element());
    const std::int64_t step = as_allocated() ? page_ : std::max<std::int64_t>(1, config_int(m_, "sliding_window"));
    const double rings = few_ > 0 ? static_cast<double>(ring(kFew)) / static_cast<double>(step) : 0.0;
    return latent_bytes(page_) * static_cast<double>(layers_) + rings * states * static_cast<double>(few_);
  }
  // A draft of one layer.
  [[nodiscard]] double drafted() const {
    return speculative_ ? static_cast<double>(layers_ + 1) / static_cast<double>(layers_) : 1.0;
  }
  [[nodiscard]] bool share_given() const { return view_.on(Field::_swa_full_tokens_ratio_explicitly_set); }
  [[nodiscard]] double share() const {
    if (cap_) return 0.0;
    return share_given() || !as_allocated() ? view_.number(Field::swa_full_tokens_ratio, kUsualWindowShare)
                                            : kUsualWindowShare;
  }

  [[nodiscard]] std::optional<std::int64_t> window_cap() const {
    const auto running = asked_requests();
    const std::int64_t window = config_int(m_, "sliding_window");
    const bool decodes = view_.only_decodes();
    if (!as_allocated() || share_given() || !running || window <= 0) return std::nullopt;
    if (!decodes && view_.integer(Field::chunked_prefill_size, 0) <= 0) return std::nullopt;
    const std::int64_t usual = view_.radix_cache() ? 4 * *running : 0;
    const std::int64_t tails = view_.integer(Field::swa_prefix_tails, usual);
    return ceil_div(window_request_cap(view_, window, *running) + tails * (window + page_), page_) * page_;
  }

  // Of one replica; before 0.5.23 it may be none, where fewer are asked for than there are replicas.
  [[nodiscard]] std::optional<std::int64_t> asked_requests() const {
    const std::int64_t asked = view_.integer(Field::max_running_requests, 0);
    if (asked <= 0) return std::nullopt;
    return std::max<std::int64_t>(asked / view_.attention_dp(), view_.since(23) ? 1 : 0);
  }

  [[nodiscard]] std::int64_t requests(std::int64_t bytes) const {
    if (const auto running = asked_requests()) return *running;
    const auto tokens = static_cast<std::int64_t>(static_cast<double>(bytes) / bytes_per_token());
    const double by_context =
        static_cast<double>(tokens) / static_cast<double>(std::max<std::int64_t>(1, m_.context_len)) * 512;
    return std::min(std::clamp<std::int64_t>(static_cast<std::int64_t>(by_context), 2048, 4096), tokens / 2);
  }

  // States of the groups of 128 that are not complete, by request.
  [[nodiscard]] std::int64_t state_bytes(std::int64_t running) const {
    if (many_ == 0) return 0;
    const bool decodes = view_.only_decodes();
    const std::int64_t extra = decodes ? view_.integer(Field::disaggregation_decode_extra_slots, 0) : 0;
    const std::int64_t rows = (running + extra + 1) * ring(kMany) + ring(kMany) + 1;
    return ceil_div(rows, kMany) * kMany * 2 * latent() * state_element() * many_;
  }

  const LaunchView& view_;
  const ModelFacts& m_;
  std::int64_t page_;
  std::int64_t layers_ = 0;
  std::int64_t few_ = 0;
  std::int64_t many_ = 0;
  bool known_ = true;
  bool speculative_ = false;
  std::optional<std::int64_t> cap_;  // slots of the window's pool, where requests decide them
};

}  // namespace

bool is_compressed(const ModelFacts& model) {
  return std::ranges::any_of(model.architectures, [](const std::string& a) { return a.starts_with("DeepseekV4"); });
}

std::optional<CacheCost> compressed_cost(const LaunchView& view, const Stage& stage) {
  const Pools pools(view, stage);
  if (!pools.known()) return std::nullopt;
  CacheCost cost;
  cost.kind = "compressed latents with a window";
  cost.layers = pools.layers();
  cost.bytes_per_token = static_cast<std::int64_t>(pools.bytes_per_token() + 0.5);
  return cost;
}

CompressedPools compressed_pools(const LaunchView& view, std::int64_t bytes, std::optional<std::int64_t> cap) {
  std::optional<CompressedPools> least;
  for (const Stage& stage : stages_of(view)) {
    const Pools pools(view, stage);
    CompressedPools sized = pools.sized(bytes);
    if (cap && *cap < sized.tokens) sized = pools.of_tokens(*cap);
    if (!least || sized.tokens < least->tokens) least = sized;
  }
  return least.value_or(CompressedPools{});
}

}  // namespace preflight::plan
