completions bash
