// A fix written into the text its arguments came from: a shell command, or the YAML file of --config. Comments, quotes
// and layout of everything else stay. These functions edit text; the caller checks that the result reads as meant.
#pragma once

#include <string>
#include <vector>

#include "preflight/fix.h"
#include "preflight/result.h"

namespace preflight::fix {

struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// `spans`: where each given argument stands in `text`, quotes included. Changes that belong to a file are left alone.
Result<std::string> edit_command(const std::string& text, const std::vector<TextSpan>& spans, const CheckedFix& fix);

// Changes of options that stand in `file`; with `with_added`, new options too, at the end.
Result<std::string> edit_yaml(const std::string& text, const std::string& file, const CheckedFix& fix, bool with_added);

// Replaces a file that holds `before` in one step: it stays beside the new one as FILE.bak (or .bak2, …), whose name is
// returned. One that holds something else by now is left alone: somebody works on it.
Result<std::string> replace_file(const std::string& path, const std::string& before, const std::string& text);
// Undoes that. False: the old text is in the backup still.
bool undo_replacing(const std::string& path, const std::string& backup);

}  // namespace preflight::fix
