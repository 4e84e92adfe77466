// The most that this program takes on, in one place. Inputs come from strangers: whatever stands in them, no file under
// a megabyte may cost more than a second or 200 MB. Each limit is far beyond any real launch or model, and whoever
// meets one is told which. Tested by tests/limits_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace preflight::limits {

// Stands for an exception's name where a limit of ours ended the reading of a launch: SGLang may well take it, so that
// this is told as ours and never as a refusal of SGLang's.
inline constexpr std::string_view kOurs = "a limit of xpu-preflight";

// Any text that is read as a whole: longer than any configuration; a device file never ends.
inline constexpr std::size_t kTextBytes = std::size_t{64} << 20U;

// A file of the system's own, of which the list of connections is the longest; and a line of a batch.
inline constexpr std::size_t kSystemBytes = std::size_t{16} << 20U;
inline constexpr std::size_t kLineBytes = std::size_t{16} << 20U;

// Layers of a model: lists and weights are counted layer by layer, many times over.
inline constexpr std::int64_t kLayers = 1'024;
// Names of classes, entries of a list by layer, and settings that a model's configuration may have: each is looked up
// again and again, those of a configuration or a part of it by every step and rule. What a part holds by the names of
// modules or labels may be longer.
inline constexpr std::size_t kArchitectures = 64;
inline constexpr std::size_t kModelItems = 65'536;
inline constexpr std::size_t kModelSettings = 32'768;
inline constexpr std::size_t kConfigSettings = 512;  // the longest known has a hundred
inline constexpr std::size_t kGgufKeys = 4'096;
// Other numbers of a model: heads, experts, widths, and what is counted in tokens. Counts of bytes are products of
// them.
inline constexpr std::int64_t kHeads = std::int64_t{1} << 16U;
inline constexpr std::int64_t kExperts = std::int64_t{1} << 16U;
inline constexpr std::int64_t kModelWidth = std::int64_t{1} << 24U;
inline constexpr std::int64_t kModelTokens = std::int64_t{1} << 30U;
// Bytes of a part of a launch: no machine has more, and a sum of a few of them is still a number.
inline constexpr std::int64_t kLaunchBytes = std::int64_t{1} << 60U;
// Items of a list, and bytes of a text, that a rule of a configuration class or a step of resolution may make.
inline constexpr std::int64_t kListItems = std::int64_t{1} << 20U;
// Items for which Python finds no memory on any machine: 8 TiB of pointers.
inline constexpr std::int64_t kPythonItems = std::int64_t{1} << 40U;
// Headers of GGUF files that are kept as they were read: of a target and its draft, by both readers.
inline constexpr std::size_t kGgufHeaders = 4;
// What a run keeps of the files of models: bytes of JSON, each of which takes up to twenty as values, the models of
// launches that look in different places, and tensors beyond which no more than two checkpoints are kept.
inline constexpr std::size_t kModelTextKept = std::size_t{4} << 20U;
inline constexpr std::size_t kModelSources = 64;
inline constexpr std::size_t kTensorsKept = 100'000;
// Stages of a pipeline: weights are counted stage by stage.
inline constexpr std::int64_t kPipelineStages = 16'384;

// What a --config file comes to as words, and one of its values: aliases multiply.
inline constexpr std::size_t kConfigBytes = std::size_t{4} << 20U;

inline constexpr std::size_t kConfigWords = 20'000;
// Such a file beyond this length is no launch's; all launches of a run together have so much of them. Counted in words,
// and a long one is several.
inline constexpr std::size_t kLongConfig = 1'000;
inline constexpr std::size_t kLongConfigs = 500'000;
inline constexpr std::size_t kConfigWordBytes = 32;
// Words of such files that a run keeps as they were read.
inline constexpr std::size_t kConfigWordsKept = 5 * kConfigWords;

// What a container, an image or a line of a batch sets: each variable is seen by all behind it. And their text, which
// grows where one repeats another.
inline constexpr std::size_t kVariables = 512;
inline constexpr std::size_t kVariableCost = 64;  // bytes that one takes beside its text, in each launch that has it
inline constexpr std::size_t kVariableBytes = std::size_t{1} << 20U;

// Nodes of a file of options (a list that is longer has more words than any launch has), documents of a YAML file, and
// pairs that its merges come to.
inline constexpr std::size_t kYamlNodes = 50'000;
inline constexpr std::size_t kYamlDocuments = 1'000;
inline constexpr std::size_t kYamlPairs = 100'000;

// Kernel cases of one file, as text and by number: braces multiply them; and requests that all of them name.
inline constexpr std::size_t kCaseBytesOfText = std::size_t{16} << 20U;
inline constexpr std::size_t kCases = 20'000;
inline constexpr std::size_t kCaseBraces = 64;  // of one line: each is opened for itself
inline constexpr std::size_t kCaseRequests = std::size_t{1} << 20U;
// A number of a case line: no tensor has a longer side.
inline constexpr std::int64_t kCaseNumber = std::int64_t{1} << 31U;
// What one case may take, counted before anything of it is made (cost_of, src/kernels/kernel_table.cpp): the memory
// that is held for it, and nanoseconds of a slow core, about. All that a launch of any known model plans is within it,
// so that no launch is left unchecked; rows of published tests need more, and get it where --large-cases is given.
inline constexpr std::int64_t kCaseBytes = std::int64_t{512} << 20U;
inline constexpr std::int64_t kCaseSteps = 4'000'000'000;
inline constexpr std::int64_t kLargeCaseBytes = std::int64_t{6} << 30U;
inline constexpr std::int64_t kLargeCaseSteps = 24'000'000'000;

// The search for fixes: argument lists longer than that are not searched, and the lists that it keeps in mind may hold
// so many bytes in all.
inline constexpr std::size_t kFixWords = 1'000;
// Launches that one run resolves to find fixes and to try remedies, whatever number of launches its files hold. All
// lines of a batch together have more, each as many as a run of its own; so many take one to three seconds. Equal lines
// are tried once: so many different ones are kept in mind. A launch of many words counts as several.
inline constexpr std::size_t kTries = 5'000;
// Launches of one file and what is tried of them together: each costs about the same, and no file may take long.
inline constexpr std::size_t kFileTries = 1'500;
inline constexpr std::size_t kBatchTries = 20'000;
// Launches that `suggest` resolves in one run: thousands of cards are shared out in hundreds of thousands of ways.
inline constexpr int kSuggestTries = 4'000;
inline constexpr std::size_t kWordsOfATry = 50;  // more than launches have: each so many count once more
inline constexpr std::size_t kBatchAnswers = 256;
inline constexpr std::size_t kFixBytes = std::size_t{32} << 20U;
// Bytes of a launch from where arguments are added to a list for fixes, and remedies tried of a launch.
inline constexpr std::size_t kFixListBytes = 200'000;
inline constexpr int kProofs = 120;
// Answers about words that a thread remembers.
inline constexpr std::size_t kRemembered = 16'384;
// More than any option counts; two of them multiply in 64 bits.
inline constexpr std::int64_t kOptionCount = std::int64_t{1} << 30U;

// Files of a folder, bytes of one, and entries of folders that all patterns of a run go through.
inline constexpr std::size_t kFiles = 5'000;
inline constexpr std::size_t kGlobEntries = 100'000;
inline constexpr std::uintmax_t kFileBytes = std::uintmax_t{1} << 20U;
// Of longer ones, bytes that are searched for a launch in a run: where one is, or may be, that is told.
inline constexpr std::size_t kSearchedBytes = std::size_t{256} << 20U;
// Launches of a file, and nodes of a launch. The files of a run have what one has, of launches and of tries, and one
// more for so many of their bytes.
inline constexpr std::size_t kLaunches = 1'000;
inline constexpr std::size_t kBytesOfALaunch = 1'000;
inline constexpr int kLaunchNodes = 1'024;
// Adapters of a launch that are looked at, and kinds of modules that one may change: no model has so many.
inline constexpr std::size_t kAdapters = 1'000;
inline constexpr std::size_t kAdapterModules = 512;
// Cards of a machine, and the MiB of one; mounts of a container.
inline constexpr int kCards = 4'096;
inline constexpr std::int64_t kCardMib = 1'000'000'000;
inline constexpr std::size_t kMounts = 64;

// Shell. An argument: Linux hands no longer one to a program. Depths are of brackets, functions and shells inside each
// other; turns are those of a loop over a list, which is followed word by word.
inline constexpr std::size_t kShellBytes = 512UL * 1024;
inline constexpr std::size_t kArgumentBytes = 128UL * 1024;
inline constexpr std::size_t kShellNodes = 60'000;
inline constexpr std::size_t kShellUnknowns = 1'024;
inline constexpr std::size_t kShellDefaults = 64;  // told of a launch
// For all scripts and programs of one file together.
inline constexpr std::size_t kFileSteps = 4'500'000;
inline constexpr std::size_t kRunStepsOfAByte = 2;      // of the files of a run, beside those of one
inline constexpr std::size_t kScriptBytesOfAStep = 16;  // to begin a script, whatever stands in it
inline constexpr std::size_t kShellDrySteps = 60'000;
inline constexpr std::size_t kShellTurns = 64;
// To see whether a script or a program comes to a launch where nobody gives it anything.
inline constexpr std::size_t kProbeSteps = 300'000;
inline constexpr int kShellDepth = 60;
inline constexpr int kShellCalls = 40;
inline constexpr int kShellsInShells = 8;
inline constexpr std::size_t kWrappers = 64;  // env, nohup, numactl, … in front of a program
inline constexpr int kTextDepth = 4;
inline constexpr int kArithmeticDepth = 64;
// What a byte of a function that export -f hands over costs: it is read each time.
inline constexpr std::size_t kHandedCost = 32;
// Words that the braces of one become.
inline constexpr std::size_t kBraceWords = 256;
inline constexpr int kBraceDepth = 24;
// A pattern, and what it is matched with, which costs its square; by a regular expression more.
inline constexpr std::size_t kPatternBytes = 256;
inline constexpr std::size_t kMatchedBytes = 4'096;
inline constexpr std::size_t kReplacedBytes = 128;  // and where each part of it may match
inline constexpr std::size_t kExpressionBytes = 512;
// What is printed into a substitution.
inline constexpr std::size_t kPrintBytes = 64UL * 1024;
inline constexpr int kPrintDepth = 8;
inline constexpr std::int64_t kPrintedNumbers = 256;

// Make.
inline constexpr std::size_t kMakeWork = 2'000'000;
inline constexpr std::size_t kMakeSteps = 100'000;
inline constexpr std::size_t kMakeValueBytes = 64UL * 1024;
inline constexpr std::size_t kMakeConditions = 200;  // one in another
inline constexpr int kMakeDepth = 40;
inline constexpr int kMakeCalls = 8;

// Manifests. Aliases can make a small file endless: pairs that are looked at for all merges of a file. Turns are those
// of steps over a matrix.
inline constexpr std::size_t kYamlTreePairs = 400'000;
inline constexpr std::size_t kYamlTreeBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kYamlWalkedBytes = std::size_t{16} << 20U;  // of texts, each time that an alias has one
inline constexpr std::size_t kYamlGap = 400;  // bytes of indentation or escapes between two characters of a value
inline constexpr int kManifestDepth = 64;
inline constexpr int kManifestNodes = 100'000;
inline constexpr std::size_t kManifestWords = 20'000;
inline constexpr int kMatrixTurns = 256;
inline constexpr std::size_t kComposeFiles = 100;
inline constexpr std::size_t kImageFiles = 200;          // written by a Dockerfile
inline constexpr std::size_t kManifestBytesOfAStep = 4;  // of a file that another one includes
inline constexpr std::size_t kGitlabVariables = 200;
inline constexpr std::size_t kDropIns = 64;  // of a unit
inline constexpr int kVariableDepth = 16;    // names behind names
inline constexpr std::uintmax_t kVariableFileBytes = kShellBytes;
inline constexpr int kNomadDepth = 40;
inline constexpr std::size_t kNomadParts = 50'000;

// Modules that a quantised checkpoint leaves plain: letters and alternatives of a pattern, names that are looked for as
// parts of others, and steps over all layers.
inline constexpr std::size_t kNamePattern = 256;
inline constexpr std::size_t kPartNames = 64;
inline constexpr std::size_t kPlainSteps = 4'000'000;

// Folders around one.
inline constexpr std::size_t kPathParents = 64;

// Python. Steps in which a program is followed: one stands for so many bytes, too, that it makes or looks through.
// Levels are statements, expressions and values inside each other, calls included. Turns are those of a loop, rounds
// how often one is gone through whose test is not known.
inline constexpr std::size_t kPythonTokens = 200'000;
inline constexpr std::size_t kProgramSteps = 1'500'000;
inline constexpr std::size_t kStepBytes = 64;
inline constexpr int kProgramLevels = 1'500;
inline constexpr int kProgramDepth = 150;  // brackets and blocks inside each other
inline constexpr int kTreeDepth = 600;     // a + b + c + …, a and b and c and …
inline constexpr int kProgramCalls = 30;
inline constexpr int kProgramTurns = 2'000;
inline constexpr int kProgramRounds = 4;
inline constexpr std::int64_t kRangeItems = 100'000;
inline constexpr std::size_t kLeftOutLines = 64;  // that are no Python; the rest is read again without them
inline constexpr std::size_t kReadAgainBytes = 4'000'000;
inline constexpr std::size_t kCells = 5'000;
inline constexpr std::size_t kCellPlaces = 1'500'000'000;  // lines of code times the file's longest line

// Lists of words, and the values that a server logged: how long one is, and how many are cut off.
inline constexpr std::size_t kListWords = 10'000;
inline constexpr std::size_t kLoggedBytes = std::size_t{64} << 10U;
inline constexpr int kCutOffCalls = 8;

}  // namespace preflight::limits
